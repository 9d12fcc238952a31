import JSON
import Model

extension APNsProvider {
    package func showsAlone(_ own: JSONText) -> Bool {
        guard let aps = (try? own.value())?.object?["aps"]?.object else { return false }
        return ["alert", "sound", "badge"].contains { !(aps[$0]?.isNull ?? true) }
    }
}
