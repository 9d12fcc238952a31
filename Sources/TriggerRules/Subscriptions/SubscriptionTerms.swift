import Basis

/// The terms of a subscription to items, as a request named them. They were checked.
package struct SubscriptionTerms: Equatable, Sendable {
    /// In the order of the request; 1 to `namesMax`, each a valid `ItemName`, none twice.
    package var items: [String]
    /// In the order of the request, which positions count in; 1 to `namesMax`, none twice.
    package var fields: [String]
    package var mode: UpdateMode
    /// nil: each update of the items that names one of the fields makes a push.
    package var trigger: TriggerTerms?
    package var template: TemplateSource
    /// nil: the app's.
    package var pauseSeconds: Int32?
    package var whenPaused: WhenPaused
    /// nil: the subscription does not expire.
    package var expiresAt: WallInstant?

    /// The most items, and the most fields.
    package static let namesMax = 50

    package init(
        items: [String], fields: [String], mode: UpdateMode = .merge, trigger: TriggerTerms? = nil,
        template: TemplateSource, pauseSeconds: Int32? = nil, whenPaused: WhenPaused = .newest,
        expiresAt: WallInstant? = nil
    ) {
        (self.items, self.fields, self.mode, self.trigger, self.template) = (items, fields, mode, trigger, template)
        (self.pauseSeconds, self.whenPaused, self.expiresAt) = (pauseSeconds, whenPaused, expiresAt)
    }
}

extension SubscriptionTerms {
    /// The bytes that two subscriptions of a device share exactly if coalescing takes them for one: those of their items,
    /// fields and trigger, each with its length.
    ///
    /// The mode isn't among them: it is overwritten.
    package var identityBytes: [UInt8] {
        var bytes: [UInt8] = []
        for texts in [items, fields, trigger.map { [$0.text] } ?? []] {
            Self.append(texts.count, to: &bytes)
            for text in texts {
                Self.append(text.utf8.count, to: &bytes)
                bytes += Array(text.utf8)
            }
        }
        return bytes
    }

    /// Appends a number in four bytes, the highest first.
    private static func append(_ number: Int, to bytes: inout [UInt8]) {
        let number = UInt32(number)
        for shift: UInt32 in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
}

/// A trigger that was parsed with the fields of its subscription.
package struct TriggerTerms: Equatable, Sendable {
    /// The words of the request, which no other spelling equals.
    package let text: String
    /// The thresholds by which updates find the trigger (`TriggerExpression.thresholds`). Empty: none order it.
    package let thresholds: [Threshold]

    package init(text: String, thresholds: [Threshold]) { (self.text, self.thresholds) = (text, thresholds) }
}

/// The form of a subscription's pushes. Subscriptions with equal ones share a row.
package struct TemplateSource: Equatable, Sendable {
    /// The members of the request that make the push, as a JSON object: `notification` to `time_to_live`. Answers show
    /// them.
    package let given: [UInt8]
    /// The message as `StoredContent` writes it, with `${field}` and `$[1]` in its texts.
    package let content: [UInt8]
    /// Whether a person sees the push. Such a push waits for the end of quiet hours.
    package let isShown: Bool

    package init(given: [UInt8], content: [UInt8], isShown: Bool = true) {
        (self.given, self.content, self.isShown) = (given, content, isShown)
    }
}

/// The raw values are stored in the database. The API has the words `active` and `triggered`.
package enum SubscriptionStatus: Int16, CaseIterable, Sendable {
    /// Updates are asked about its trigger, or make pushes. → triggered
    case active = 1
    /// Its trigger has fired. → active (reactivated, modified, overwritten)
    case triggered = 2

    package var name: String {
        switch self {
        case .active: "active"
        case .triggered: "triggered"
        }
    }
}
