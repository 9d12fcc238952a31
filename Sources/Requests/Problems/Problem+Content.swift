import Content
import JSON

/// Translates the faults of bodies, contents and send times for the client, with one exhaustive switch for each.
extension Problem {
    package init(_ error: JSONError) {
        let code: ProblemCode =
            switch error.kind {
            case .endsEarly, .unexpectedByte, .trailingBytes, .badNumber, .badEscape, .loneSurrogate,
                .controlCharacterInString:
                .malformedJSON
            case .nulInString: .nulCharacter
            case .notUTF8: .invalidUTF8
            case .duplicateName: .duplicateMember
            case .tooDeep, .tooManyValues, .numberTooLong: .jsonTooComplex
            case .tooLarge: .bodyTooLarge
            }
        self.init(code, error.sentence)
    }

    package init(_ fault: ContentFault) {
        switch fault {
        case .provider(_, let fault): self.init(fault, at: .root)
        case .template(let pointer, let fault): self.init(fault, at: pointer)
        case .blank(let pointer):
            self.init(
                .nothingToShow,
                "The notification has no visible text here, only blanks or nothing. Write a title or a body, or leave "
                    + "notification out for a push without text.", at: pointer)
        }
    }

    /// - Parameter place: the place of the value that the provider was given; nil: the body as a whole.
    package init(_ fault: ProviderFault, at place: JSONPointer? = nil) {
        let tokens = (place?.tokens ?? []) + (fault.pointer?.tokens ?? [])
        self.init(
            ProblemCode(rawValue: fault.code) ?? .invalidValue, fault.detail,
            at: place == nil && fault.pointer == nil ? nil : JSONPointer(tokens: tokens))
    }

    package init(
        _ fault: SendTimeFault, at pointer: JSONPointer = .root / "options" / "send_at", toSendNow advice: String? = nil
    ) {
        let detail =
            switch fault {
            case .tooFarAhead:
                "This is more than \(SendTime.aheadMax.components.seconds / 86_400) days ahead. Choose an earlier time."
            case .longPast: "This time has passed. \(advice ?? "Leave send_at out") to send the message now."
            case .pastEverywhere:
                "This time has passed in every time zone. \(advice ?? "Leave send_at and device_local_time out") to send "
                    + "it now."
            }
        self.init(.invalidValue, detail, at: pointer)
    }
}
