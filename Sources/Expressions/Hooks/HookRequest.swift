import Model

/// A request with a user's token, as hooks see it.
package struct HookRequest: Sendable {
    package struct Device: Sendable {
        package let installation: String
        /// nil: the installation is not known.
        package let provider: Provider?
        /// Empty: the provider has no topics. nil: the installation is not known.
        package let topic: String?

        package init(installation: String, provider: Provider?, topic: String?) {
            (self.installation, self.provider, self.topic) = (installation, provider, topic)
        }
    }

    package struct Activation: Sendable {
        /// One or more.
        package let items: [String]
        /// One or more.
        package let fields: [String]
        /// In the words of the API.
        package let mode: String
        /// nil: the subscription has none.
        package let trigger: String?

        package init(items: [String], fields: [String], mode: String, trigger: String?) {
            precondition(!items.isEmpty && !fields.isEmpty, "the request was checked")
            (self.items, self.fields, self.mode, self.trigger) = (items, fields, mode, trigger)
        }
    }

    package let auth: UserClaims
    package let device: Device
    /// The subscription that the request makes or changes; nil: none.
    package let activation: Activation?

    package init(auth: UserClaims, device: Device, activation: Activation? = nil) {
        (self.auth, self.device, self.activation) = (auth, device, activation)
    }
}
