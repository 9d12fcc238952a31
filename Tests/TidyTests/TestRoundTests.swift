import Testing

@Suite("The rounds of scripts/test")
struct TestRoundTests {
    private func rounds() throws -> TestRounds { TestRounds(script: try Project.text(TestRounds.script)) }

    @Test("run each test target of the manifest in exactly one round")
    func targets() throws {
        let misplaced = try rounds().misplaced(in: Project.manifest())
        #expect(misplaced.isEmpty, "\(misplaced.joined(separator: "; ")): see the lists in scripts/test")
    }

    @Test("leave out only suites that exist when they are quick")
    func slowSuites() throws {
        let rounds = try rounds()
        #expect(rounds.slowSuites.count > 5)
        let unknown = rounds.unknownSlowSuites(in: try Project.files())
        #expect(unknown.isEmpty, "\(unknown.joined(separator: ", ")): see slow_suites in scripts/test")
    }

    @Test("have each journey in one of the suites that they run")
    func journeys() throws {
        let files = try Project.files().filter { $0.target?.name == "JourneyTests" && $0.name != "Places.swift" }
        #expect(files.count > 10)
        let strays = files.filter { file in
            file.source.lines.contains { $0.hasPrefix("@Suite") || $0.hasPrefix("@Test") }
        }
        #expect(strays.isEmpty, "\(strays.map(\.name)): a journey extends a suite of Places.swift")
    }
}

@Suite("The rule for rounds of tests")
struct TestRoundRuleTests {
    private let rounds = TestRounds(
        script: """
            unit_suites=(
                AlphaTests BetaTests
            )
            room_suites=(BetaTests OldTests)
            slow_suites=(BetaTests.SlowTests AlphaTests.SlowTests OldTests.GoneTests)
                gamma) run_round gamma run_suites 2 --filter '^GammaTests[./]' --skip '^GammaTests[.]LongTests/' ;;
                gamma-alone) run_round gamma-alone run_suites 1 --filter '^GammaTests[.]Alone/' ;;
            """)

    private let manifest = Manifest(
        layers: [], pureLayers: [],
        targets: ["AlphaTests", "BetaTests", "GammaTests", "DeltaTests"].map { name in
            Manifest.Target(name: name, kind: .test, layer: nil, folder: "Tests/\(name)")
        })

    @Test("reports a target in no round, a target in two rounds, and a name of no target")
    func misplaced() {
        #expect(
            rounds.misplaced(in: manifest) == [
                "BetaTests is in 2 rounds", "DeltaTests is in 0 rounds", "OldTests is no test target",
            ])
    }

    @Test("reports a slow suite that its target does not declare, or that another round runs")
    func slowSuites() {
        let files = ["AlphaTests", "BetaTests"].map { target in
            SourceFile(
                SourceText(path: "Tests/\(target)/SlowTests.swift", text: "struct SlowTests {\n}\n"), in: manifest)
        }
        #expect(rounds.unknownSlowSuites(in: files) == ["AlphaTests.SlowTests", "OldTests.GoneTests"])
    }
}
