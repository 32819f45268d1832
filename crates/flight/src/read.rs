use crate::chunk::{Chunk, Object, Value};
use crate::cursor::Text;
use crate::error::Error;
use crate::intern::Interned;
use crate::metadata::TypeId;
use crate::name;
use crate::nouns::{
    Compiled, Flight, FrameKind, JavaAllocation, JavaCollection, JavaFrame, JavaLoad, JavaMethod, JavaSample,
    JavaStack, JavaThread, JavaWait, Waiting,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Of all chunks: an hour of five samples each 20 ms.
const MOST_EVENTS: usize = 1 << 20;
/// Events that are read, besides `jdk.ActiveSetting`.
const READ: [&str; 9] = [
    "jdk.ExecutionSample",
    "jdk.NativeMethodSample",
    "jdk.ObjectAllocationSample",
    "jdk.JavaMonitorEnter",
    "jdk.JavaMonitorWait",
    "jdk.ThreadPark",
    "jdk.GarbageCollection",
    "jdk.Compilation",
    "jdk.CPULoad",
];

/// Reads all chunks in these bytes.
///
/// # Errors
/// If they do not begin with a chunk that can be read. What is wrong behind its head is said by [`Flight::cut`].
pub fn read(bytes: &[u8]) -> Result<Flight, Error> {
    let mut reading = Reading::new();
    let mut chunk = Chunk::read(bytes, MOST_EVENTS)?;
    reading.flight.from_ns = u64::try_from(chunk.head.start_ns).unwrap_or(0);
    let mut rest = bytes;
    loop {
        reading.chunk(&chunk);
        rest = &rest[chunk.len()..];
        if rest.is_empty() {
            break;
        }
        match Chunk::read(rest, MOST_EVENTS) {
            Ok(next) => chunk = next,
            Err(_) => {
                reading.flight.cut = true;
                break;
            }
        }
    }
    Ok(reading.end())
}

/// What was read so far.
struct Reading {
    flight: Flight,
    texts: Interned<Arc<str>>,
    threads: Interned<JavaThread>,
    methods: Interned<JavaMethod>,
    stacks: Interned<JavaStack>,
    events: usize,
}

/// What constants of one chunk turned out to be, by their key.
struct Known<'c, 'a> {
    chunk: &'c Chunk<'a>,
    texts: BTreeMap<(TypeId, i64), Arc<str>>,
    threads: BTreeMap<i64, Option<u32>>,
    methods: BTreeMap<i64, Option<u32>>,
    stacks: BTreeMap<i64, Option<u32>>,
}

impl Reading {
    fn new() -> Self {
        Self {
            flight: Flight::default(),
            texts: Interned::new(),
            threads: Interned::new(),
            methods: Interned::new(),
            stacks: Interned::new(),
            events: 0,
        }
    }

    fn end(self) -> Flight {
        Flight {
            threads: self.threads.into_all(),
            methods: self.methods.into_all(),
            stacks: self.stacks.into_all(),
            ..self.flight
        }
    }

    fn chunk(&mut self, chunk: &Chunk<'_>) {
        self.flight.cut |= chunk.cut;
        self.flight.left_out += chunk.left_out;
        let lasted_ns = u64::try_from(chunk.head.duration_ns).unwrap_or(0);
        self.flight.lasted_ns = self.flight.lasted_ns.saturating_add(lasted_ns);
        let names: BTreeMap<TypeId, &'static str> =
            READ.iter().filter_map(|name| Some((chunk.class_of(name)?, *name))).collect();
        let setting = chunk.class_of("jdk.ActiveSetting");
        let mut known = Known::new(chunk);
        for &(id, at) in &chunk.events {
            let name = names.get(&id).copied();
            if name.is_none() && setting != Some(id) {
                continue;
            }
            if self.events >= MOST_EVENTS {
                self.flight.left_out += 1;
                continue;
            }
            let Some(event) = chunk.object(id, at) else {
                self.flight.cut = true;
                continue;
            };
            match name {
                Some(name) => {
                    self.events += 1;
                    self.event(name, &event, &mut known);
                }
                None => self.setting(&names, &event, &mut known),
            }
        }
    }

    fn setting(
        &mut self,
        names: &BTreeMap<TypeId, &'static str>,
        event: &Object<'_>,
        known: &mut Known<'_, '_>,
    ) {
        let Some(&of) = event.number("id").and_then(|id| names.get(&id)) else { return };
        let (name, value) = (self.text(event, "name", known), self.text(event, "value", known));
        let of = self.intern(of);
        self.flight.settings.insert((of, name), value);
    }

    fn event(&mut self, of: &str, event: &Object<'_>, known: &mut Known<'_, '_>) {
        let head = known.chunk.head;
        let at_ns = head.at_ns(event.number("startTime").unwrap_or(0));
        let duration_ns = head.lasting_ns(event.number("duration").unwrap_or(0));
        let thread = |of: &mut Self, field, known: &mut Known<'_, '_>| of.thread(event.get(field), known);
        let stack = self.stack(event.get("stackTrace"), known);
        match of {
            "jdk.ExecutionSample" | "jdk.NativeMethodSample" => {
                let sample = JavaSample {
                    at_ns,
                    thread: thread(self, "sampledThread", known),
                    stack,
                    native: of == "jdk.NativeMethodSample",
                    runnable: *self.constant_text(event.get("state"), "name", known) == *"STATE_RUNNABLE",
                };
                self.flight.samples.push(sample);
            }
            "jdk.ObjectAllocationSample" => {
                let weight = event.number("weight").unwrap_or(0);
                let allocation = JavaAllocation {
                    at_ns,
                    thread: thread(self, "eventThread", known),
                    stack,
                    class: self.class(event.get("objectClass"), known).unwrap_or_default(),
                    weight_bytes: u64::try_from(weight).unwrap_or(0),
                };
                self.flight.allocations.push(allocation);
            }
            "jdk.GarbageCollection" => {
                let collection = JavaCollection {
                    at_ns,
                    duration_ns,
                    paused_ns: head.lasting_ns(event.number("sumOfPauses").unwrap_or(0)),
                    collector: self.text(event, "name", known),
                    cause: self.text(event, "cause", known),
                };
                self.flight.collections.push(collection);
            }
            "jdk.Compilation" => {
                let method = self.method(event.get("method"), known);
                self.flight.compiled.push(Compiled { at_ns, duration_ns, method });
            }
            "jdk.CPULoad" => {
                let share = |name| event.float(name).filter(|share| share.is_finite()).unwrap_or(0.0);
                let load = JavaLoad { at_ns, user: share("jvmUser"), system: share("jvmSystem") };
                self.flight.loads.push(load);
            }
            _ => {
                let (waiting, class, other) = match of {
                    "jdk.JavaMonitorEnter" => (Waiting::Enter, "monitorClass", "previousOwner"),
                    "jdk.JavaMonitorWait" => (Waiting::Notify, "monitorClass", "notifier"),
                    _ => (Waiting::Park, "parkedClass", ""),
                };
                let wait = JavaWait {
                    at_ns,
                    duration_ns,
                    waiting,
                    thread: thread(self, "eventThread", known),
                    stack,
                    class: self.class(event.get(class), known),
                    other: thread(self, other, known),
                };
                self.flight.waits.push(wait);
            }
        }
    }

    fn intern(&mut self, text: &str) -> Arc<str> {
        self.texts.text(text)
    }

    /// The text in this field; empty if there is none.
    fn text(&mut self, object: &Object<'_>, field: &str, known: &mut Known<'_, '_>) -> Arc<str> {
        match object.get(field) {
            Some(Value::Text(text)) => self.said(text, known),
            // Names of collectors and causes are constants, each with one field that is called differently.
            constant @ Some(Value::Constant(..)) => self.constant_text(constant, "", known),
            _ => Arc::default(),
        }
    }

    fn said(&mut self, text: &Text<'_>, known: &mut Known<'_, '_>) -> Arc<str> {
        match text {
            Text::Null => Arc::default(),
            Text::Here(text) => self.intern(text),
            Text::Constant(key) => {
                let Some(class) = known.chunk.class_of("java.lang.String") else { return Arc::default() };
                if let Some(text) = known.texts.get(&(class, *key)) {
                    return text.clone();
                }
                let text = match known.chunk.constant_text(class, *key) {
                    Some(Text::Here(text)) => self.intern(&text),
                    // One that stands elsewhere again is none.
                    _ => Arc::default(),
                };
                known.texts.insert((class, *key), text.clone());
                text
            }
        }
    }

    /// The text in this field of a constant, or in its only one.
    fn constant_text(
        &mut self,
        value: Option<&Value<'_>>,
        field: &str,
        known: &mut Known<'_, '_>,
    ) -> Arc<str> {
        let Some(&Value::Constant(class, key)) = value else { return Arc::default() };
        if let Some(text) = known.texts.get(&(class, key)) {
            return text.clone();
        }
        let text = known.chunk.constant(class, key).and_then(|object| match object.get_or_only(field)? {
            Value::Text(text) => Some(self.said(text, known)),
            _ => None,
        });
        let text = text.unwrap_or_default();
        known.texts.insert((class, key), text.clone());
        text
    }

    fn thread(&mut self, value: Option<&Value<'_>>, known: &mut Known<'_, '_>) -> Option<u32> {
        let Some(&Value::Constant(class, key)) = value else { return None };
        if let Some(&number) = known.threads.get(&key) {
            return number;
        }
        let number = known.chunk.constant(class, key).map(|object| {
            let name = match self.text(&object, "javaName", known) {
                name if name.is_empty() => self.text(&object, "osName", known),
                name => name,
            };
            let tid = object.number("osThreadId").and_then(|tid| u32::try_from(tid).ok());
            let is_virtual = object.number("virtual").is_some_and(|is| is != 0);
            self.threads.number(JavaThread { name, tid: tid.unwrap_or(0), is_virtual })
        });
        known.threads.insert(key, number);
        number
    }

    fn class(&mut self, value: Option<&Value<'_>>, known: &mut Known<'_, '_>) -> Option<Arc<str>> {
        let Some(&Value::Constant(class, key)) = value else { return None };
        let object = known.chunk.constant(class, key)?;
        let internal = self.constant_text(object.get("name"), "string", known);
        (!internal.is_empty()).then(|| self.intern(&name::class_name(&internal)))
    }

    fn method(&mut self, value: Option<&Value<'_>>, known: &mut Known<'_, '_>) -> Option<u32> {
        let Some(&Value::Constant(class, key)) = value else { return None };
        if let Some(&number) = known.methods.get(&key) {
            return number;
        }
        let number = known.chunk.constant(class, key).map(|object| {
            let class = self.class(object.get("type"), known).unwrap_or_default();
            let name = self.constant_text(object.get("name"), "string", known);
            self.methods.number(JavaMethod { class, name })
        });
        known.methods.insert(key, number);
        number
    }

    fn stack(&mut self, value: Option<&Value<'_>>, known: &mut Known<'_, '_>) -> Option<u32> {
        let Some(&Value::Constant(class, key)) = value else { return None };
        if let Some(&number) = known.stacks.get(&key) {
            return number;
        }
        let number = known.chunk.constant(class, key).and_then(|object| {
            let Some(&Value::List(of, count, at)) = object.get("frames") else { return None };
            let frames = known.chunk.objects(of, count, at);
            let frames: Option<Vec<JavaFrame>> = frames.map(|frame| self.frame(&frame?, known)).collect();
            let truncated = object.number("truncated").is_some_and(|is| is != 0);
            Some(self.stacks.number(JavaStack { frames: frames?, truncated }))
        });
        known.stacks.insert(key, number);
        number
    }

    fn frame(&mut self, object: &Object<'_>, known: &mut Known<'_, '_>) -> Option<JavaFrame> {
        let line = object.number("lineNumber").and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
        let kind = match &*self.constant_text(object.get("type"), "description", known) {
            "Interpreted" => FrameKind::Interpreted,
            "JIT compiled" => FrameKind::Compiled,
            "Inlined" => FrameKind::Inlined,
            "Native" => FrameKind::Native,
            _ => FrameKind::Other,
        };
        Some(JavaFrame { method: self.method(object.get("method"), known)?, line, kind })
    }
}

impl<'c, 'a> Known<'c, 'a> {
    fn new(chunk: &'c Chunk<'a>) -> Self {
        Self {
            chunk,
            texts: BTreeMap::new(),
            threads: BTreeMap::new(),
            methods: BTreeMap::new(),
            stacks: BTreeMap::new(),
        }
    }
}
