/// The structure that Package.swift declares: its layers, and its targets with their dependencies.
struct Manifest {
    struct Target: Equatable {
        enum Kind: Equatable {
            /// A C library, or our own C code.
            case c
            case swift
            case test
        }

        let name: String
        let kind: Kind
        /// nil if the target names none. Test targets have none.
        let layer: Layer?
        /// Targets and products by name.
        var dependencies: [String] = []
        /// The folder of its sources, from the project's root.
        let folder: String
        /// Whether it is pure although its layer is not.
        var isMarkedPure = false

        /// The name that imports use.
        var module: String { String(name.map { $0 == "-" ? "_" : $0 }) }
    }

    /// A layer's place in the manifest's list, from the bottom up.
    struct Layer: Comparable {
        let name: String
        let place: Int

        static func < (left: Layer, right: Layer) -> Bool { left.place < right.place }
    }

    let layers: [Layer]
    let pureLayers: Set<String>
    let targets: [Target]

    init(text: String) {
        let cases = text.firstMatch(of: /enum Layer \{\s*case ([^}]+)\}/)?.1 ?? ""
        let layers = cases.split { !$0.isLetter }.enumerated().map { Layer(name: String($1), place: $0) }
        self.layers = layers
        let pure = text.firstMatch(of: /let pureLayers: \[Layer\] = \[([^\]]*)\]/)?.1 ?? ""
        pureLayers = Set(pure.matches(of: /\.(\w+)/).map { String($0.1) })
        let call = /(?m)^ +(cLibrary|cTarget|target|executable|testTarget|\.\w*[tT]arget|\.systemLibrary)\(/
        targets = text.matches(of: call).compactMap { match in
            let words = Manifest.group(in: text[match.range.upperBound...])
            // The helpers themselves have no name in quotation marks.
            guard let name = words.firstMatch(of: /^\s*(?:name: )?"([^"]+)"/)?.1 else { return nil }
            let kind: Target.Kind =
                switch match.1 {
                case "cLibrary", "cTarget": .c
                case "testTarget": .test
                default: .swift
                }
            let layer = words.firstMatch(of: /^[^\[]*?, \.(\w+)\b/)?.1
            let list = words.firstMatch(of: /^\s*"[^"]+",(?: \.\w+,)?\s*\[/)
            return Target(
                name: String(name), kind: kind, layer: layers.first { $0.name == layer ?? "" },
                dependencies: list.map { Manifest.names(in: Manifest.group(in: words[$0.range.upperBound...])) } ?? [],
                folder: words.firstMatch(of: /path: "([^"]+)"/).map { String($0.1) }
                    ?? (kind == .test ? "Tests/\(name)" : "Sources/\(name)"),
                isMarkedPure: words.contains("isPure: true"))
        }
    }

    init(layers: [String], pureLayers: Set<String>, targets: [Target]) {
        self.layers = layers.enumerated().map { Layer(name: $1, place: $0) }
        self.pureLayers = pureLayers
        self.targets = targets
    }

    func target(named name: String) -> Target? { targets.first { $0.name == name } }

    /// The target that a file belongs to.
    func target(of path: String) -> Target? { targets.first { path.hasPrefix($0.folder + "/") } }

    func layer(named name: String) -> Layer? { layers.first { $0.name == name } }

    /// No clock, no socket, no Foundation, no randomness, nothing whose order changes from run to run.
    func isPure(_ target: Target) -> Bool {
        target.isMarkedPure || target.layer.map { pureLayers.contains($0.name) } ?? false
    }

    /// Up to the mark that closes the group whose opening mark was just passed.
    private static func group(in text: Substring) -> Substring {
        var depth = 0
        for place in text.indices {
            switch text[place] {
            case "(", "[": depth += 1
            case ")", "]":
                if depth == 0 { return text[..<place] }
                depth -= 1
            default: break
            }
        }
        return text
    }

    /// `"Target"` and `.product(name: "Library", package: "...")` in order.
    private static func names(in list: Substring) -> [String] {
        let withoutPackages = list.replacing(/package: "[^"]*"/, with: "")
        return withoutPackages.matches(of: /"([^"]+)"/).map { String($0.1) }
    }
}
