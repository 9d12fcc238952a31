extension JSONWriter {
    package static func body(capacity: Int = 256, _ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter(capacity: capacity)
        writer.object(write)
        return writer.bytes
    }

    /// Returns `{"items": [...], "next": cursor or null}`, with an object for each item.
    package static func page<Item>(
        _ items: [Item], next: String?, capacity: Int = 4_096, _ write: (inout JSONWriter, Item) -> Void
    ) -> [UInt8] {
        body(capacity: capacity) { writer in
            writer.objects("items", items, write)
            writer.optional("next", next)
        }
    }

    package mutating func object(_ write: (inout JSONWriter) -> Void) {
        beginObject()
        write(&self)
        endObject()
    }

    package mutating func object(_ member: String, _ write: (inout JSONWriter) -> Void) {
        name(member)
        object(write)
    }

    package mutating func array<Element>(
        _ member: String, _ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) -> Void
    ) {
        name(member)
        beginArray()
        for element in elements { write(&self, element) }
        endArray()
    }

    package mutating func objects<Element>(
        _ member: String, _ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) -> Void
    ) { array(member, elements) { writer, element in writer.object { write(&$0, element) } } }

    package mutating func strings(_ member: String, _ texts: [String]) { array(member, texts) { $0.string($1) } }

    package mutating func optional(_ member: String, _ text: String?) {
        name(member)
        if let text { string(text) } else { null() }
    }

    package mutating func optionalInteger(_ member: String, _ integer: (some BinaryInteger)?) {
        name(member)
        if let integer { self.integer(integer) } else { null() }
    }
}
