import JSON
import Model

/// Parses a template's texts and puts a mark (`PlaceholderMark`) in the place of each placeholder.
struct ContentPlaceholders: ContentTextReplacer {
    typealias Fault = ContentFault

    /// True for a place that becomes a header, whose own rules a value could break.
    private let isHeader: (JSONPointer) -> Bool
    /// The placeholders, indexed by the numbers of their marks.
    private(set) var placeholders: [TemplatePlaceholder] = []
    private var numbers: [TemplatePlaceholder: Int] = [:]  // lookup only
    /// The device fields that the placeholders need, each once.
    private(set) var fields: [DeviceField] = []
    /// The fault of the content if a sender wrote it: its first placeholder for an own value.
    private(set) var ownFault: ContentFault?
    /// The number of placeholders in all texts, repetitions included.
    private var count = 0

    init(isHeader: @escaping (JSONPointer) -> Bool) { self.isHeader = isHeader }

    mutating func marked(_ content: MessageContent) throws(ContentFault) -> MessageContent {
        if let requested = content.options.collapseID {
            let place = JSONPointer.root / "options" / "collapse_id"
            if TemplateText.isOne(requested) { throw .template(place, TemplateFault(position: 1, reason: .notHere)) }
            try checkMarks(requested, at: place)
        }
        return try replace(in: content)
    }

    mutating func replacement(
        for text: String, at place: JSONPointer, as use: PlaceholderUse
    ) throws(ContentFault) -> String {
        try checkMarks(text, at: place)
        guard TemplateText.isOne(text) else { return text }
        let template: TemplateText
        do throws(TemplateFault) { template = try TemplateText(parsing: text) } catch { throw .template(place, error) }
        if let fault = template.ownFault, ownFault == nil { ownFault = .template(place, fault) }
        if use == .id, !template.isNeverBlank {
            throw .template(place, TemplateFault(position: 1, reason: .needsDefault))
        }
        var marked = ""
        for part in template.parts {
            switch part {
            case .literal(let literal): marked += literal
            case .placeholder(var placeholder):
                placeholder.use = use
                if isHeader(place) { throw .template(place, TemplateFault(position: 1, reason: .notHere)) }
                count += 1
                guard count <= TemplateLimits.placeholdersPerMessageMax else {
                    throw .template(place, TemplateFault(position: 1, reason: .tooManyPlaceholdersInAll))
                }
                guard let number = number(of: placeholder) else {
                    throw .template(place, TemplateFault(position: 1, reason: .tooManyDifferentPlaceholders))
                }
                guard fields.count <= TemplateLimits.fieldsMax else {
                    throw .template(place, TemplateFault(position: 1, reason: .tooManyFields))
                }
                marked += PlaceholderMark.text(number)
            }
        }
        return marked
    }

    /// Returns the placeholder's number; nil: there are too many.
    private mutating func number(of placeholder: TemplatePlaceholder) -> Int? {
        if let number = numbers[placeholder] { return number }
        guard placeholders.count < TemplateLimits.placeholdersMax else { return nil }
        numbers[placeholder] = placeholders.count
        placeholders.append(placeholder)
        if !fields.contains(placeholder.field) { fields.append(placeholder.field) }
        return placeholders.count - 1
    }

    /// Refuses a text that contains a mark's characters, which would be taken for a placeholder.
    private func checkMarks(_ text: String, at place: JSONPointer) throws(ContentFault) {
        guard let position = text.unicodeScalars.firstIndex(where: PlaceholderMark.isPart) else { return }
        let before = text.unicodeScalars[..<position].count
        throw .template(place, TemplateFault(position: before + 1, reason: .reservedCharacter))
    }

    func checkName(_ name: String, at place: JSONPointer) throws(ContentFault) {
        guard TemplateText.isOne(name) || name.unicodeScalars.contains(where: PlaceholderMark.isPart) else { return }
        throw .template(place, TemplateFault(position: 1, reason: .notHere))
    }
}

extension TemplateText {
    /// Whether it shows something even if the device has no values.
    fileprivate var isNeverBlank: Bool {
        parts.contains { part in
            switch part {
            case .literal(let text): VisibleText.isVisible(text)
            case .placeholder(let placeholder): VisibleText.isVisible(placeholder.fallback)
            }
        }
    }
}
