/// The variables in a file of a systemd unit's (`EnvironmentFile=`), as systemd reads them.
///
/// A backslash at a line's end joins the next line, also in a comment. # and ; begin a comment at a line's begin alone.
/// Source: systemd 252, systemd.exec(5) and `parse_env_file_internal`.
struct EnvironmentFile {
    private enum State {
        case beforeName, name, beforeValue, value, valueEscape
        case singleQuoted, doubleQuoted, doubleQuotedEscape
        case comment, commentEscape
    }

    private(set) var variables: [String: String] = [:]
    private var state = State.beforeName
    private var name = String.UnicodeScalarView()
    private var value = String.UnicodeScalarView()
    /// The length of the value without the blanks at its end, which count if they are quoted or escaped.
    private var kept = 0

    init(_ text: String) {
        for scalar in text.unicodeScalars { read(scalar) }
        switch state {
        case .beforeName, .name, .comment, .commentEscape: break
        case .beforeValue, .value, .valueEscape, .singleQuoted, .doubleQuoted, .doubleQuotedEscape: finish()
        }
    }

    private mutating func read(_ scalar: Unicode.Scalar) {
        let isNewline = scalar == "\n" || scalar == "\r"
        let isBlank = isNewline || scalar == " " || scalar == "\t"
        switch (state, scalar) {
        case (.beforeName, "#"), (.beforeName, ";"): state = .comment
        case (.beforeName, _):
            guard !isBlank else { return }
            (name, value, kept, state) = (.init(CollectionOfOne(scalar)), .init(), 0, .name)
        case (.name, "="): state = .beforeValue
        case (.name, _):
            if isNewline { state = .beforeName } else { name.append(scalar) }
        case (.beforeValue, "'"): state = .singleQuoted
        case (.beforeValue, "\""): state = .doubleQuoted
        case (.beforeValue, "\\"), (.value, "\\"): (kept, state) = (value.count, .valueEscape)
        case (.beforeValue, _), (.value, _):
            if isNewline {
                finish()
            } else if !isBlank {
                keep(scalar, .value)
            } else if case .value = state {
                value.append(scalar)
            }
        case (.valueEscape, _):
            if isNewline { state = .value } else { keep(scalar, .value) }
        case (.singleQuoted, "'"), (.doubleQuoted, "\""): state = .beforeValue
        case (.doubleQuoted, "\\"): state = .doubleQuotedEscape
        case (.singleQuoted, _), (.doubleQuoted, _): keep(scalar, state)
        case (.doubleQuotedEscape, "\""), (.doubleQuotedEscape, "\\"), (.doubleQuotedEscape, "`"),
            (.doubleQuotedEscape, "$"):
            keep(scalar, .doubleQuoted)
        case (.doubleQuotedEscape, "\n"): state = .doubleQuoted
        case (.doubleQuotedEscape, _):
            value.append("\\")
            keep(scalar, .doubleQuoted)
        case (.comment, "\\"): state = .commentEscape
        case (.comment, _): if isNewline { state = .beforeName }
        case (.commentEscape, _): state = .comment
        }
    }

    private mutating func keep(_ scalar: Unicode.Scalar, _ next: State) {
        value.append(scalar)
        (kept, state) = (value.count, next)
    }

    private mutating func finish() {
        let bare = String(name).trimmingSuffix { $0 == " " || $0 == "\t" }
        variables[bare] = String(String.UnicodeScalarView(value.prefix(kept)))
        state = .beforeName
    }
}

extension String {
    fileprivate func trimmingSuffix(while isRemoved: (Character) -> Bool) -> String {
        var text = self[...]
        while let last = text.last, isRemoved(last) { text.removeLast() }
        return String(text)
    }
}
