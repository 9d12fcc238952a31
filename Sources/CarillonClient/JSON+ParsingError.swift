extension JSON {
    /// The reason why a text is not JSON, and the place. Parsing the same text again fails in the same way.
    public struct ParsingError: Error, Equatable, Sendable {
        public let reason: Reason
        /// The place in UTF-8 bytes from the beginning.
        public let offset: Int

        public init(_ reason: Reason, at offset: Int) { (self.reason, self.offset) = (reason, offset) }

        public enum Reason: Equatable, Sendable {
            /// The text ends inside a value.
            case endsEarly
            /// The byte at this place begins or continues no value.
            case unexpectedByte
            /// The value is complete, and something other than white space follows it.
            case trailingBytes
            /// A number breaks the grammar, for example `-` or `1.`.
            case badNumber
            /// A backslash stands before an unknown letter, or `\u` before fewer than four hexadecimal digits.
            case badEscape
            /// An escape names one half of a surrogate pair, which is no character.
            case loneSurrogate
            /// A control character stands in a string without an escape.
            case controlCharacter
            /// The bytes are not UTF-8.
            case notUTF8
            /// An object has two members of the same name.
            case duplicateName
            /// Arrays and objects nest deeper than `JSON.depthMax`.
            case tooDeep
        }
    }
}
