/// Who may use what.
extension Rule {
    static let importsGoDown = Rule("imports go down") { file in
        guard let moduleRule = file.moduleRule else { return [] }
        return file.imports.compactMap { module, token in
            moduleRule.mayImport.contains(module)
                ? nil : file.finding(token, "\(moduleRule.name) may not import \(module)")
        }
    }

    static let foundationHasItsRooms = Rule("Foundation is imported on the roof, by the private server and in tests") {
        file in
        guard !file.isTest, file.moduleRule?.layer != .roof else { return [] }
        let isPrivateServer = file.moduleRule?.name == "Postgres" && file.name.hasPrefix("PrivateServer")
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
        guard let moduleRule = file.moduleRule, !file.isTest, !moduleRule.layer.mayBeUnsafe else { return [] }
        return file.findings { token, place in
            if token.text == "unsafe" { return "unsafe outside the basement" }
            if token.text.hasPrefix("Unsafe") { return "\(token.text) outside the basement" }
            return nil
        }
    }

    static let uncheckedIsProven = Rule("@unchecked stays in the basement, and carries its proof") { file in
        guard let moduleRule = file.moduleRule, !file.isTest else { return [] }
        return file.findings { token, place in
            guard token.text == "unchecked", file.previous(place)?.text == "@" else { return nil }
            guard moduleRule.layer.mayBeUnsafe else { return "@unchecked outside the basement" }
            return file.provesUnchecked(at: token.line) ? nil : "@unchecked without its proof beside it"
        }
    }

    static let printingHasOnePlace = Rule("only the console prints") { file in
        guard !file.isTest, file.source.path != "Sources/Commands/Console.swift" else { return [] }
        let printers: Set<String> = ["print", "debugPrint", "dump", "puts", "printf"]
        return file.findings { token, place in
            guard printers.contains(token.text), file.next(place)?.text == "(" else { return nil }
            let before = file.previous(place)?.text
            return before == "." || before == "func" ? nil : "\(token.text)( outside the console"
        }
    }
}

extension SourceFile {
    /// The comment that ends in the line above, or the one that begins in the line below, speaks of it.
    fileprivate func provesUnchecked(at line: Int) -> Bool {
        var comments: [Substring] = []
        var above = line - 1
        while above >= 0, source.commentLines[above] {
            comments.append(source.lines[above])
            above -= 1
        }
        var below = line + 1
        while below < source.commentLines.count, source.commentLines[below] {
            comments.append(source.lines[below])
            below += 1
        }
        return comments.contains { $0.contains("@unchecked") }
    }
}
