import Testing

@Suite("The project")
struct ProjectTests {
    @Test("follows its rules in every file", arguments: Rule.all.map(\.name))
    func everyFile(ruleName: String) throws {
        let rule = try #require(Rule.all.first { $0.name == ruleName })
        let files = try Project.files()
        #expect(files.count > 10, "the sources were not found beside this test")
        let findings = files.flatMap(rule.judge)
        #expect(findings.isEmpty, "\(findings.map { "\n" + $0.description }.joined())")
    }

    @Test("uses no retired word in its documentation")
    func pages() throws {
        let pages = try Project.pages()
        #expect(pages.count > 20)
        for page in pages {
            let found = Prose.retired(
                in: try Project.text(page).split(separator: "\n", omittingEmptySubsequences: false))
            expectNone(found.map { "\(page):\($0.line): \"\($0.word)\" is retired" })
        }
    }

    @Test("names each state of its migrations on the same line")
    func migrations() throws {
        let files = try Project.pages().filter { $0.hasSuffix(".sql") }
        #expect(files.count > 3)
        for file in files {
            let lines = try Project.text(file).split(separator: "\n", omittingEmptySubsequences: false)
            for (place, line) in lines.enumerated() where line.contains(Self.stateNumber) {
                #expect(line.contains("--") || line.contains("/*"), "\(file):\(place + 1): a state is a number")
            }
        }
    }

    private static var stateNumber: Regex<Substring> {
        /\b(?:state|provider|verdict) *(?:=|<>|<|>|IN|BETWEEN) *\(?[0-9]/
    }

    private func layering() throws -> Layering {
        Layering(manifest: try Project.manifest(), files: try Project.files())
    }

    private func expectNone(_ complaints: [String], at place: SourceLocation = #_sourceLocation) {
        #expect(complaints.isEmpty, "\(complaints.map { "\n" + $0 }.joined())", sourceLocation: place)
    }

    @Test("reads its layers, targets and dependencies from the manifest")
    func manifestIsRead() throws {
        let manifest = try Project.manifest()
        #expect(manifest.layers.count > 10 && !manifest.pureLayers.isEmpty)
        #expect(manifest.pureLayers.allSatisfy { manifest.layer(named: $0) != nil })
        #expect(manifest.targets.count > 50 && manifest.targets.contains { $0.isMarkedPure })
        let depending = manifest.targets.filter { $0.kind == .swift && !$0.dependencies.isEmpty }
        #expect(depending.count > 20)
    }

    @Test("names a layer for every target")
    func everyTargetHasALayer() throws {
        expectNone(try layering().withoutLayer)
    }

    @Test("lets each target depend only on its own layer and on lower ones")
    func dependenciesGoDown() throws {
        expectNone(try layering().upward)
    }

    @Test("lets pure targets depend only on pure targets")
    func pureTargetsStayPure() throws {
        expectNone(try layering().impure)
    }

    @Test("imports only what each target declares")
    func importsAreDeclared() throws {
        expectNone(try layering().undeclared)
    }

    @Test("declares only what each target imports")
    func dependenciesAreUsed() throws {
        expectNone(try layering().unused)
    }

    @Test("keeps all Swift files in the folders of its targets")
    func everyFileIsBuilt() throws {
        expectNone(try layering().strays)
    }
}

@Suite("The rules of the layers")
struct LayeringTests {
    private static let manifest = """
        enum Layer {
            case base, values, adapters, tests
        }
        let pureLayers: [Layer] = [.values]
        func target(_ name: String, _ layer: Layer) -> Target { .target(name: name) }
        let package = Package(
            targets: [
                cLibrary("CThing", .base, pkgConfig: "libthing", apt: "libthing-dev"),
                target("Words", .base, isPure: true),
                target("Numbers", .values, ["Words"], path: "Sources/Deep/Numbers"),
                target(
                    "Wire", .adapters,
                    [
                        "CThing", "Numbers", .product(name: "Logging", package: "swift-log"),
                    ]),
                executable("the-program", .adapters, ["Wire"]),
                target("Samples", .tests, ["Wire"], path: "Tests/Support"),
                testTarget("WireTests", ["Samples", "the-program"]),
            ]
        )
        """

    private func layering(_ manifest: String, _ files: [String: String] = [:]) -> Layering {
        let manifest = Manifest(text: manifest)
        return Layering(
            manifest: manifest,
            files: files.sorted { $0.key < $1.key }.map { path, text in
                SourceFile(SourceText(path: path, text: text), in: manifest)
            })
    }

    private func manifest(numbersOn dependencies: String) -> String {
        Self.manifest.replacing(".values, [\"Words\"]", with: ".values, [\(dependencies)]")
    }

    private static let files = [
        "Sources/Deep/Numbers/Number.swift": "import Words\n",
        "Sources/Wire/Wire.swift": "import CThing\nimport Glibc\nimport Logging\nimport Numbers\n",
        "Sources/the-program/Program.swift": "import Wire\n",
        "Tests/Support/Sample.swift": "import Wire\n",
        "Tests/WireTests/WireTests.swift": "import Samples\nimport Testing\nimport the_program\n",
    ]

    @Test("read each target with its layer, its folder and its dependencies")
    func targets() {
        let manifest = Manifest(text: Self.manifest)
        func layer(_ name: String) -> Manifest.Layer? { manifest.layer(named: name) }
        #expect(manifest.layers.map(\.name) == ["base", "values", "adapters", "tests"])
        #expect(
            manifest.targets == [
                .init(name: "CThing", kind: .c, layer: layer("base"), folder: "Sources/CThing"),
                .init(name: "Words", kind: .swift, layer: layer("base"), folder: "Sources/Words", isMarkedPure: true),
                .init(
                    name: "Numbers", kind: .swift, layer: layer("values"), dependencies: ["Words"],
                    folder: "Sources/Deep/Numbers"),
                .init(
                    name: "Wire", kind: .swift, layer: layer("adapters"),
                    dependencies: ["CThing", "Numbers", "Logging"], folder: "Sources/Wire"),
                .init(
                    name: "the-program", kind: .swift, layer: layer("adapters"), dependencies: ["Wire"],
                    folder: "Sources/the-program"),
                .init(
                    name: "Samples", kind: .swift, layer: layer("tests"), dependencies: ["Wire"],
                    folder: "Tests/Support"),
                .init(
                    name: "WireTests", kind: .test, layer: nil, dependencies: ["Samples", "the-program"],
                    folder: "Tests/WireTests"),
            ])
    }

    @Test("report nothing in a project that follows them")
    func kept() {
        let layering = layering(Self.manifest, Self.files)
        #expect(layering.withoutLayer.isEmpty && layering.upward.isEmpty && layering.impure.isEmpty)
        #expect(layering.undeclared.isEmpty && layering.unused.isEmpty && layering.strays.isEmpty)
    }

    @Test("report a target without a layer, or with one that is not listed")
    func withoutLayer() {
        let manifest = Self.manifest.replacing("target(\"Words\", .base,", with: "target(\"Words\", .cellar,")
            .replacing("executable(\"the-program\", .adapters, [", with: ".executableTarget(name: \"the-program\", [")
        #expect(layering(manifest).withoutLayer == ["Words names no layer", "the-program names no layer"])
    }

    @Test("report a dependency on a higher layer")
    func upward() {
        let manifest = self.manifest(numbersOn: "\"Wire\"")
        #expect(layering(manifest).upward == ["Numbers (values) depends on Wire (adapters)"])
    }

    @Test("report a pure target that depends on another kind of target or on a library")
    func impure() {
        let library = ".product(name: \"Logging\", package: \"swift-log\")"
        let manifest = self.manifest(numbersOn: "\"CThing\", \(library)")
        #expect(
            layering(manifest).impure == [
                "Numbers is pure and depends on CThing", "Numbers is pure and depends on Logging",
            ])
        let unmarked = Self.manifest.replacing(", isPure: true", with: "")
        #expect(layering(unmarked).impure == ["Numbers is pure and depends on Words"])
    }

    @Test("report an import that the target does not declare")
    func undeclared() {
        var files = Self.files
        files["Sources/Deep/Numbers/Number.swift"] = "import Words\npackage import struct Wire.Thing\n"
        #expect(
            layering(Self.manifest, files).undeclared == [
                "Sources/Deep/Numbers/Number.swift:2: Numbers does not declare Wire"
            ])
    }

    @Test("report a declared dependency that is never imported")
    func unused() {
        var files = Self.files
        files["Sources/Wire/Wire.swift"] = "import CThing\nimport Numbers\n// import Logging\n"
        files["Tests/WireTests/WireTests.swift"] = "import Samples\n"
        #expect(
            layering(Self.manifest, files).unused == [
                "Wire declares Logging and never imports it", "WireTests declares the-program and never imports it",
            ])
    }

    @Test("report Swift files outside the folders of the targets")
    func strays() {
        #expect(layering(Self.manifest, ["Sources/Old/Old.swift": "", "Tests/Help.swift": ""]).strays.count == 2)
    }
}
