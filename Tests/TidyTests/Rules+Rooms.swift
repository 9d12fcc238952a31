/// Who may use what.
extension Rule {
    static let importsGoDown = Rule("imports go down") { file in
        guard let room = file.room else { return [] }
        return file.imports.compactMap { module, token in
            room.mayImport.contains(module) ? nil : file.finding(token, "\(room.name) may not import \(module)")
        }
    }

    static let foundationHasItsRooms = Rule("Foundation is imported on the roof, by the private server and in tests") {
        file in
        guard !file.isTest, file.room?.floor != .roof else { return [] }
        let isPrivateServer = file.room?.name == "Postgres" && file.name.hasPrefix("PrivateServer")
        return file.imports.compactMap { module, token in
            guard module.hasPrefix("Foundation"), !isPrivateServer else { return nil }
            return file.finding(token, "import Foundation outside its rooms")
        }
    }

    static let noOldTests = Rule("tests are written with Swift Testing and see what the package sees") { file in
        file.findings { token, place in
            if token.text == "testable", file.previous(place)?.text == "@" { return "@testable" }
            if token.text == "XCTest", file.previous(place)?.text == "import" { return "import XCTest" }
            return nil
        }
    }

    static let unsafeStaysInTheBasement = Rule("unsafe code stays in the basement") { file in
        guard let room = file.room, !file.isTest, !room.floor.mayBeUnsafe else { return [] }
        return file.findings { token, place in
            if token.text == "unsafe" { return "unsafe outside the basement" }
            if token.text.hasPrefix("Unsafe") { return "\(token.text) outside the basement" }
            return nil
        }
    }

    /// Outside the basement too, since a class that lives on one thread is the business of whoever owns the thread.
    static let uncheckedIsProven = Rule("@unchecked Sendable carries its proof in the line above") { file in
        guard !file.isTest else { return [] }
        return file.findings { token, place in
            guard token.text == "unchecked", file.previous(place)?.text == "@" else { return nil }
            return file.hasCommentAbove(declarationAt: token.line) ? nil : "@unchecked without its proof above"
        }
    }

    static let printingHasOnePlace = Rule("only the console prints") { file in
        guard !file.isTest, file.source.path != "Sources/Gateway/Console.swift" else { return [] }
        let printers: Set<String> = ["print", "debugPrint", "dump", "puts", "printf"]
        return file.findings { token, place in
            guard printers.contains(token.text), file.next(place)?.text == "(" else { return nil }
            let before = file.previous(place)?.text
            return before == "." || before == "func" ? nil : "\(token.text)( outside the console"
        }
    }
}

extension HouseFile {
    /// The line above, or above the attributes and modifiers of a declaration that runs over several lines.
    fileprivate func hasCommentAbove(declarationAt line: Int) -> Bool {
        guard line > 0 else { return false }
        if source.commentLines[line - 1] { return true }
        let above = tokens.filter { $0.line == line - 1 }
        return above.first?.text == "@" && hasCommentAbove(declarationAt: line - 1)
    }
}
