/// The rules that the manifest and the imports follow together.
struct Layering {
    let manifest: Manifest
    let files: [SourceFile]

    /// Modules of the platform: no manifest declares them.
    static let platform: Set<String> = ["Foundation", "FoundationNetworking", "Glibc", "Synchronization", "Testing"]

    /// Targets that name no layer, and layers that the manifest doesn't list.
    var withoutLayer: [String] {
        manifest.targets.filter { $0.kind != .test && $0.layer == nil }.map { "\($0.name) names no layer" }
    }

    /// Dependencies on a target of a higher layer.
    var upward: [String] {
        dependencies { target, other in
            guard let from = target.layer, let to = other.layer, to > from else { return nil }
            return "\(target.name) (\(from.name)) depends on \(other.name) (\(to.name))"
        }
    }

    /// Dependencies of pure targets on others that are not pure.
    var impure: [String] {
        manifest.targets.filter(manifest.isPure).flatMap { target in
            target.dependencies.compactMap { name in
                guard manifest.target(named: name).map(manifest.isPure) != true else { return nil }
                return "\(target.name) is pure and depends on \(name)"
            }
        }
    }

    /// Imports of what the target does not name in the manifest.
    var undeclared: [String] {
        files.flatMap { file -> [String] in
            guard let target = file.target else { return [] }
            let known = Self.platform.union(target.dependencies.map(module)).union([target.module])
            return file.imports.filter { !known.contains($0.module) }.map { name, token in
                file.finding(token, "\(target.name) does not declare \(name)").description
            }
        }
    }

    /// Dependencies that no file of the target imports.
    var unused: [String] {
        let filesOfTargets = Dictionary(grouping: files) { $0.target?.name ?? "" }
        return manifest.targets.filter { $0.kind != .c }.flatMap { target in
            let imported = Set((filesOfTargets[target.name] ?? []).flatMap { $0.imports.map(\.module) })
            return target.dependencies.filter { !imported.contains(module($0)) }.map {
                "\(target.name) declares \($0) and never imports it"
            }
        }
    }

    /// Swift files outside the targets' folders.
    var strays: [String] { files.filter { $0.target == nil }.map(\.source.path) }

    private func module(_ dependency: String) -> String { manifest.target(named: dependency)?.module ?? dependency }

    private func dependencies(_ complaint: (Manifest.Target, Manifest.Target) -> String?) -> [String] {
        manifest.targets.flatMap { target in
            target.dependencies.compactMap(manifest.target(named:)).compactMap { complaint(target, $0) }
        }
    }
}
