import Model
import ProviderInterface
import Providers

/// The sentences below a preview about what a provider's phones do not show, or show under a condition only.
package enum PreviewRemarks {
    /// - Parameter text: the text in the phone's language.
    package static func lines(
        about text: NotificationText?, _ presentation: NotificationPresentation, sound: String?, on id: Provider
    ) -> [String] {
        let remarks = PushProviders.offered(id)?.remarks(about: text, presentation, sound: sound) ?? []
        return remarks.map { "  " + $0 }
    }
}
