//! Chunks as a machine would write them, but small: a few types, with fields that no version has, and what a test puts in.

/// Numbers of types. Those of the two events that say how the rest is read are fixed.
const STRING: u64 = 20;
const THREAD: u64 = 30;
const CLASS: u64 = 31;
const SYMBOL: u64 = 32;
const METHOD: u64 = 33;
const STACK: u64 = 34;
const FRAME: u64 = 35;
const FRAME_KIND: u64 = 36;
const STATE: u64 = 37;
const COLLECTOR: u64 = 38;
pub const SAMPLE: u64 = 101;
pub const ENTER: u64 = 102;
pub const ALLOCATION: u64 = 103;
pub const COLLECTION: u64 = 104;
pub const SETTING: u64 = 105;
pub const LOAD: u64 = 106;

/// A field: its name, its type, whether a constant is meant, and whether there are several.
type Field = (&'static str, u64, bool, bool);

const TYPES: &[(u64, &str, &[Field])] = &[
    (1, "boolean", &[]),
    (2, "byte", &[]),
    (3, "int", &[]),
    (4, "long", &[]),
    (5, "float", &[]),
    (6, "double", &[]),
    (STRING, "java.lang.String", &[]),
    (
        THREAD,
        "java.lang.Thread",
        &[
            ("osName", STRING, false, false),
            ("osThreadId", 4, false, false),
            ("javaName", STRING, false, false),
        ],
    ),
    (CLASS, "java.lang.Class", &[("name", SYMBOL, true, false), ("hidden", 1, false, false)]),
    (SYMBOL, "jdk.types.Symbol", &[("string", STRING, false, false)]),
    (METHOD, "jdk.types.Method", &[("type", CLASS, true, false), ("name", SYMBOL, true, false)]),
    (STACK, "jdk.types.StackTrace", &[("truncated", 1, false, false), ("frames", FRAME, false, true)]),
    (
        FRAME,
        "jdk.types.StackFrame",
        &[
            ("method", METHOD, true, false),
            ("lineNumber", 3, false, false),
            ("type", FRAME_KIND, true, false),
        ],
    ),
    (FRAME_KIND, "jdk.types.FrameType", &[("description", STRING, false, false)]),
    (STATE, "jdk.types.ThreadState", &[("name", STRING, false, false)]),
    (COLLECTOR, "jdk.types.GCName", &[("name", STRING, false, false)]),
    (
        SAMPLE,
        "jdk.ExecutionSample",
        &[
            ("startTime", 4, false, false),
            ("unheardOf", 6, false, false),
            ("sampledThread", THREAD, true, false),
            ("stackTrace", STACK, true, false),
            ("state", STATE, true, false),
        ],
    ),
    (
        ENTER,
        "jdk.JavaMonitorEnter",
        &[
            ("startTime", 4, false, false),
            ("duration", 4, false, false),
            ("eventThread", THREAD, true, false),
            ("stackTrace", STACK, true, false),
            ("monitorClass", CLASS, true, false),
            ("previousOwner", THREAD, true, false),
        ],
    ),
    (
        ALLOCATION,
        "jdk.ObjectAllocationSample",
        &[("startTime", 4, false, false), ("objectClass", CLASS, true, false), ("weight", 4, false, false)],
    ),
    (
        COLLECTION,
        "jdk.GarbageCollection",
        &[
            ("startTime", 4, false, false),
            ("duration", 4, false, false),
            ("name", COLLECTOR, true, false),
            ("sumOfPauses", 4, false, false),
        ],
    ),
    (
        SETTING,
        "jdk.ActiveSetting",
        &[
            ("startTime", 4, false, false),
            ("id", 4, false, false),
            ("name", STRING, false, false),
            ("value", STRING, false, false),
        ],
    ),
    (
        LOAD,
        "jdk.CPULoad",
        &[("startTime", 4, false, false), ("jvmUser", 5, false, false), ("jvmSystem", 5, false, false)],
    ),
];

/// Bytes that grow.
#[derive(Default, Clone)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn long(mut self, mut value: u64) -> Self {
        for _ in 0..8 {
            if value < 0x80 {
                self.0.push(value as u8);
                return self;
            }
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    pub fn text(mut self, text: &str) -> Self {
        self.0.push(3);
        let mut all = self.long(text.len() as u64);
        all.0.extend_from_slice(text.as_bytes());
        all
    }

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }
}

/// An event, with its size before it as machines write it: padded to four bytes.
fn event(id: u64, body: &[u8]) -> Vec<u8> {
    let id = Bytes::default().long(id).0;
    let size = (4 + id.len() + body.len()) as u32;
    let digit = |shift: u32, more: u8| (size >> shift) as u8 & 0x7F | more;
    let padded = [digit(0, 0x80), digit(7, 0x80), digit(14, 0x80), digit(21, 0)];
    [&padded, id.as_slice(), body].concat()
}

fn metadata() -> Vec<u8> {
    let mut texts: Vec<String> = Vec::new();
    let mut number = |text: &str| {
        let at = texts.iter().position(|of| of == text).unwrap_or_else(|| {
            texts.push(text.to_owned());
            texts.len() - 1
        });
        at as u64
    };
    let mut element = |name: &str, attributes: &[(&str, &str)], children: u64| {
        let mut all = Bytes::default().long(number(name)).long(attributes.len() as u64);
        for (key, value) in attributes {
            all = all.long(number(key)).long(number(value));
        }
        all.long(children).0
    };
    let mut tree = element("root", &[], 2);
    tree.extend(element("metadata", &[], TYPES.len() as u64));
    for (id, name, fields) in TYPES {
        tree.extend(element("class", &[("id", &id.to_string()), ("name", name)], fields.len() as u64));
        for (name, class, constant, list) in *fields {
            let class = class.to_string();
            let mut attributes = vec![("name", *name), ("class", class.as_str())];
            attributes.extend(constant.then_some(("constantPool", "true")));
            attributes.extend(list.then_some(("dimension", "1")));
            tree.extend(element("field", &attributes, 0));
        }
    }
    tree.extend(element("region", &[("gmtOffset", "0")], 0));
    let mut body = Bytes::default().long(0).long(0).long(1).long(texts.len() as u64);
    for text in &texts {
        body = body.text(text);
    }
    event(0, &body.raw(&tree).0)
}

/// All constants that the events below mean: two threads, two stacks.
fn constants() -> Vec<u8> {
    let pool = |class: u64, all: &[Bytes]| {
        let mut pool = Bytes::default().long(class).long(all.len() as u64);
        for (key, constant) in (1..).zip(all) {
            pool = pool.long(key).raw(&constant.0);
        }
        pool
    };
    let b = Bytes::default;
    let thread = |name: &str, tid| b().text("os").long(tid).text(name);
    let frame = |method, line, kind| b().long(method).long(line).long(kind).0;
    let pools = [
        pool(STRING, &[b().text("STATE_RUNNABLE")]),
        pool(THREAD, &[thread("main", 7), thread("other", 8)]),
        pool(SYMBOL, &[b().text("app/Burn"), b().text("seventy"), b().text("thirty"), b().text("main")]),
        pool(CLASS, &[b().long(1).raw(&[0])]),
        pool(METHOD, &[b().long(1).long(2), b().long(1).long(3), b().long(1).long(4)]),
        pool(FRAME_KIND, &[b().text("JIT compiled"), b().text("Inlined")]),
        // The text of the state is a constant itself.
        pool(STATE, &[b().raw(&[2, 1])]),
        pool(COLLECTOR, &[b().text("G1New")]),
        pool(
            STACK,
            &[
                b().raw(&[0]).long(2).raw(&frame(1, 70, 1)).raw(&frame(3, 10, 2)),
                b().raw(&[1]).long(1).raw(&frame(2, 30, 1)),
            ],
        ),
    ];
    let mut body = b().long(0).long(0).long(0).raw(&[0]).long(pools.len() as u64);
    for pool in &pools {
        body = body.raw(&pool.0);
    }
    event(1, &body.0)
}

/// A sample of the first thread with this stack.
pub fn sample(at: u64, stack: u64) -> Vec<u8> {
    let b = Bytes::default().long(at).raw(&[0; 8]).long(1).long(stack).long(1);
    event(SAMPLE, &b.0)
}

/// Any other event.
pub fn other(id: u64, body: &Bytes) -> Vec<u8> {
    event(id, &body.0)
}

/// A chunk with these events. It began at second 1 since 1970 and at tick 1,000 of a clock that makes a million a second.
pub fn chunk(events: &[Vec<u8>]) -> Vec<u8> {
    let body = [metadata(), constants(), events.concat()].concat();
    let mut head = b"FLR\0\0\x02\0\x01".to_vec();
    for word in [68 + body.len() as u64, 0, 0, 1_000_000_000, 5_000_000_000, 1000, 1_000_000] {
        head.extend(word.to_be_bytes());
    }
    head.extend([0, 0, 0, 1]);
    [head, body].concat()
}
