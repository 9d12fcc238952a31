import Testing

@Suite("The house")
struct LayeringTests {
    @Test("keeps its rules in every file", arguments: Rule.all.map(\.name))
    func everyFile(ruleName: String) throws {
        let rule = try #require(Rule.all.first { $0.name == ruleName })
        let files = try Project.files()
        #expect(files.count > 10, "the sources were not found beside this test")
        let findings = files.flatMap(rule.judge)
        #expect(findings.isEmpty, "\(findings.map { "\n" + $0.description }.joined())")
    }

    @Test("has a room in the table for every target, and a target for every room")
    func everyTargetHasItsRoom() throws {
        let targets = try Project.manifest().targets.filter { !$0.isTest }.map(\.name).sorted()
        #expect(targets == Layering.moduleRules.map(\.name).sorted())
    }

    @Test("lets a target depend only on what its room may import")
    func dependenciesGoDown() throws {
        for target in try Project.manifest().targets where !target.isTest {
            let moduleRule = try #require(Layering.moduleRule(target.name), "\(target.name) has no room")
            let wrong = target.dependencies.filter { !moduleRule.mayImport.contains($0) }
            #expect(wrong.isEmpty, "\(moduleRule.name) may not depend on these")
        }
    }

    @Test("imports only what the target names in the package")
    func importsAreDeclared() throws {
        let manifest = try Project.manifest()
        let platform: Set<String> = ["Foundation", "Glibc", "Synchronization", "Testing", "FoundationNetworking"]
        for file in try Project.files() where file.source.path.contains("/") {
            let target = manifest.targets.first { target in
                let folder = target.path ?? (target.isTest ? "Tests/\(target.name)" : "Sources/\(target.name)")
                return file.source.path.hasPrefix(folder + "/")
            }
            guard let target else { continue }
            let known = platform.union(target.dependencies).union([target.name])
            let undeclared = file.imports.map(\.module).filter { !known.contains($0) }
            #expect(undeclared.isEmpty, "\(file.source.path)")
        }
    }

    @Test("has a target for every folder with Swift in it")
    func everyFileIsBuilt() throws {
        let folders = try Project.manifest().targets.map { target in
            target.path ?? (target.isTest ? "Tests/\(target.name)" : "Sources/\(target.name)")
        }
        let strays = try Project.files().map(\.source.path).filter { path in
            !folders.contains { path.hasPrefix($0 + "/") }
        }
        #expect(strays.isEmpty)
    }

    @Test("lets rooms use only what stands below them, save the neighbours that the table names")
    func tableGoesDown() {
        for moduleRule in Layering.moduleRules {
            for below in moduleRule.mayImport.compactMap(Layering.moduleRule) where below.layer >= moduleRule.layer {
                #expect(
                    Layering.neighbours[below.name]?.contains(moduleRule.name) == true,
                    "\(moduleRule.name) imports \(below.name)")
            }
        }
    }
}
