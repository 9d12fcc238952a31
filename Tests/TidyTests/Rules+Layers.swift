/// The rules for what each layer may use of the platform.
extension Rule {
    /// The layers of whole programs.
    private static let programs: Set<String> = ["application", "executables", "tests"]

    /// The library for apps calls the gateway as apps do: by the platform's own URL loading.
    static let foundationIsForPrograms = Rule("Foundation is imported by programs, tests and the library for apps") {
        file in
        guard !file.isTest, !programs.union(["client"]).contains(file.layer ?? "") else { return [] }
        return file.imports.compactMap { module, token in
            module.hasPrefix("Foundation") ? file.finding(token, "import Foundation outside programs and tests") : nil
        }
    }

    /// The C library is for the system layer and for programs.
    static let systemLibrariesStayLow = Rule("C and locks stay out of pure targets") { file in
        guard !file.isTest, let layer = file.layer else { return [] }
        return file.imports.compactMap { module, token in
            switch module {
            case "Glibc" where layer != "system" && !programs.contains(layer): file.finding(token, "import Glibc")
            case "Synchronization" where file.isPure: file.finding(token, "import Synchronization in a pure target")
            default: nil
            }
        }
    }

    /// The files outside the providers' folders that may name a provider. Stand-ins of providers may too.
    private static let filesThatNameProviders: Set<String> = [
        // The ids.
        "Sources/Model/Providers.swift",
        // The composition root.
        "Sources/Server/ProviderEndpoints.swift",
        // Devices for demonstrations and measurements.
        "Sources/CommandLine/Demo/DemoScenario.swift",
        "Sources/Bench/LatencyBench.swift", "Sources/Bench/ReferenceRegistry.swift",
    ]

    /// Everything that is particular to a provider lies in its folder, and the rest asks `PushProvider`.
    static let providersStayInTheirFolders = Rule("only a provider's folder knows which provider it is") { file in
        guard !file.isTest, file.layer != "providers", file.layer != "simulator",
            !filesThatNameProviders.contains(file.source.path)
        else { return [] }
        let imports = file.imports.compactMap { module, token in
            ["APNs", "FCM", "HMS", "WebPush"].contains(module) ? file.finding(token, "import \(module)") : nil
        }
        return imports
            + file.findings { token, place in
                guard ["apns", "fcm", "hms", "webpush"].contains(token.text), file.isCase(at: place) else { return nil }
                return ".\(token.text) outside the provider's folder"
            }
    }

    static let noOldTests = Rule("tests are written with Swift Testing and see what the package sees") { file in
        file.findings { token, place in
            if token.text == "testable", file.previous(place)?.text == "@" { return "@testable" }
            if token.text == "XCTest", file.previous(place)?.text == "import" { return "import XCTest" }
            return nil
        }
    }

    static let unsafeStaysInTheSystemLayer = Rule("unsafe code stays in the system layer") { file in
        guard !file.isTest, file.layer != "system" else { return [] }
        return file.findings { token, place in
            if token.text == "unsafe" { return "unsafe outside the system layer" }
            if token.text.hasPrefix("Unsafe") { return "\(token.text) outside the system layer" }
            return nil
        }
    }

    static let uncheckedIsProven = Rule("@unchecked stays in the system layer, and carries its proof") { file in
        guard !file.isTest else { return [] }
        return file.findings { token, place in
            guard token.text == "unchecked", file.previous(place)?.text == "@" else { return nil }
            guard file.layer == "system" else { return "@unchecked outside the system layer" }
            return file.provesUnchecked(at: token.line) ? nil : "@unchecked without its proof beside it"
        }
    }

    static let printingHasOnePlace = Rule("only the console prints") { file in
        guard !file.isTest, file.source.path != "Sources/CommandLine/Console.swift" else { return [] }
        let printers: Set<String> = ["print", "debugPrint", "dump", "puts", "printf"]
        return file.findings { token, place in
            guard printers.contains(token.text), file.next(place)?.text == "(" else { return nil }
            let before = file.previous(place)?.text
            return before == "." || before == "func" ? nil : "\(token.text)( outside the console"
        }
    }
}

extension SourceFile {
    /// Whether the name is that of an enum's case, as in `.fcm` and `Provider.fcm`, and no member of a value.
    fileprivate func isCase(at place: Int) -> Bool {
        guard let dot = previous(place), dot.text == "." else { return false }
        guard let owner = tokens[safely: place - 2], !dot.isApart else { return true }
        return owner.text == "Provider" || !owner.isWord && ![")", "]", "?"].contains(owner.text)
    }

    /// The comment that ends on the line above, or the one that begins on the line below, is about it.
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
