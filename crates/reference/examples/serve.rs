//! Runs the service alone: `serve pool|threads|async|LOOPS [ADDRESS] [DATABASE]`.

use torment_reference::{Config, Model, Service};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let model = match arguments.next().as_deref() {
        Some("threads") => Model::Threads,
        Some("async") => Model::holding(65_536),
        Some("pool") | None => Model::POOL,
        Some(loops) => Model::Async { loops: loops.parse()? },
    };
    let mut config = Config { model, ..Config::default() };
    if let Some(address) = arguments.next() {
        config.listen = address.parse()?;
    }
    if let Some(database) = arguments.next() {
        config.database = database.parse()?;
    }
    let service = Service::start(config)?;
    println!("{}", service.address().base_url());
    loop {
        std::thread::park();
    }
}
