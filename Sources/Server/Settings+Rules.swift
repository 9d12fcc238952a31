import RegistryRules

extension Settings {
    /// When a suspicion about a token is confirmed.
    var suspicionRule: SuspicionRule {
        SuspicionRule(window: self.suspectWindow, shareMax: self.suspectShare, sampleMin: self.suspectSample)
    }
}
