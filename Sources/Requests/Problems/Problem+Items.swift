import JSON
import TriggerRules

// Describes updates that an item can't take, and names that items and fields can't have.
extension Problem {
    /// - Parameters:
    ///   - subject: the thing that would have the name, with its article: "a field".
    ///   - pointer: the place of the name; nil: it is in the path.
    package init(_ fault: ItemNameFault, of subject: String, at pointer: JSONPointer?) {
        let code: ProblemCode =
            switch fault {
            case .tooLong: .valueTooLong
            case .empty, .hasSlash, .hasBracket, .hasControlCharacter: .invalidValue
            }
        let text =
            switch fault {
            case .empty: "has at least one character. Give one"
            case .tooLong: "has at most \(ItemName.bytesMax) bytes of UTF-8. Use a shorter one"
            case .hasSlash: "has no slash. Use another character"
            case .hasBracket: "has none of { } [ ], with which texts and triggers write fields. Use another character"
            case .hasControlCharacter: "has no control characters. Remove them"
            }
        self.init(code, "The name of \(subject) \(text).", at: pointer)
    }

    /// - Parameter pointer: the place of the update's fields in the body.
    package init(_ fault: UpdateFault, at pointer: JSONPointer = .root) {
        switch fault {
        case .fieldName(let name, let fault):
            self.init(fault, of: "a field", at: Self.place(of: name, in: pointer))
        case .fieldValue(let name):
            self.init(
                .wrongType, "A field is a string, a number, true, false or null, and no array or object.",
                at: Self.place(of: name, in: pointer))
        case .fieldHasNUL(let name):
            self.init(
                .nulCharacter, "The text of this field has a NUL character, which can't be stored. Remove it.",
                at: Self.place(of: name, in: pointer))
        case .tooManyFields:
            self.init(.tooMany, "An update names at most \(ItemState.fieldsMax) fields. Split it.", at: pointer)
        case .updateTooLarge(let bytes):
            self.init(
                .tooMany,
                "The names and texts of the update's fields have \(bytes) bytes; the limit is "
                    + "\(UpdateFields.bytesMax). Split it, or shorten texts.", at: pointer)
        case .itemHasTooManyFields:
            self.init(
                .tooMany,
                "With this update the item would have more than \(ItemState.fieldsMax) fields. Remove fields with null.",
                at: pointer)
        case .itemTooLarge(let bytes):
            self.init(
                .tooMany,
                "With this update the item's names and texts would have \(bytes) bytes; the limit is "
                    + "\(ItemState.bytesMax). Shorten texts, or remove fields with null.", at: pointer)
        }
    }

    /// The place of a field; of the whole update if the name is too long to be repeated.
    private static func place(of name: String, in pointer: JSONPointer) -> JSONPointer {
        name.utf8.count <= CommonText.echoedBytesMax ? pointer / name : pointer
    }
}
