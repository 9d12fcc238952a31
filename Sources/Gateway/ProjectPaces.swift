import DeliveryRules
import FCM
import Transport

/// The pace of each project of Google's: what it may send is counted by project, whichever credential speaks for it.
package struct ProjectPaces: Sendable {
    /// Asks the book that all processes share.
    package typealias Book = @Sendable (FCMProject, QuotaAsk) async -> QuotaGrant?

    private let perMinute: Int
    private let book: Book?
    private var paces: [FCMProject: ProviderPace] = [:]

    /// - Parameter book: nil: there is no other process.
    package init(perMinute: Int, book: Book? = nil) {
        self.perMinute = perMinute
        self.book = book
    }

    /// The same for all who ask, as long as anybody speaks for the project.
    /// - Parameter spokenFor: the others are forgotten when a new one comes.
    package mutating func pace(of project: FCMProject, spokenFor: (FCMProject) -> Bool) -> ProviderPace {
        if let pace = paces[project] { return pace }
        paces = paces.filter { spokenFor($0.key) }
        var projectsBook: ProviderPace.Book?
        if let book { projectsBook = { await book(project, $0) } }
        let pace = ProviderPace(perMinute: perMinute, book: projectsBook)
        paces[project] = pace
        return pace
    }
}
