import JSON
import Model

// Settings for subscriptions to items as the app's row and the API hold them.
extension TriggerSettings {
    /// Reads settings that we wrote; members that are missing keep their defaults. Returns nil if one has no meaning.
    init?(stored members: JSONObject) {
        self.init()
        if let enabled = members["enabled"] {
            guard let enabled = enabled.bool else { return nil }
            isEnabled = enabled
        }
        if let pause = members["pause_seconds"] {
            guard let seconds = pause.integer.flatMap(Int32.init(exactly:)) else { return nil }
            pauseSeconds = seconds
        }
        if let patterns = members["allow"] {
            guard let stored = patterns.array else { return nil }
            allow = stored.compactMap(\.string)
            guard allow.count == stored.count else { return nil }
        }
        guard let hooks = members["hooks"] else { return }
        guard let stored = hooks.object else { return nil }
        self.hooks = TriggerHooks(
            device: stored["device"]?.string, activation: stored["activation"]?.string,
            token: stored["token"]?.string)
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("enabled", isEnabled)
        writer.member("pause_seconds", pauseSeconds)
        writer.strings("allow", allow)
        writer.object("hooks") { writer in
            writer.optional("device", hooks.device)
            writer.optional("activation", hooks.activation)
            writer.optional("token", hooks.token)
        }
    }
}

extension TriggerChange {
    /// The members that change, but for hooks.
    func write(to writer: inout JSONWriter) {
        if let isEnabled { writer.member("enabled", isEnabled) }
        if let pauseSeconds { writer.member("pause_seconds", pauseSeconds) }
        if let allow { writer.strings("allow", allow) }
    }

    /// The hooks that change; one that is removed becomes null.
    func writeHooks(to writer: inout JSONWriter) {
        if let deviceHook { writer.optional("device", deviceHook) }
        if let activationHook { writer.optional("activation", activationHook) }
        if let tokenHook { writer.optional("token", tokenHook) }
    }
}
