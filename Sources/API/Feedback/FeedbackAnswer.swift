import JSON
import Model

enum FeedbackAnswer {
    static func page(_ items: [FeedbackItem], next: String?) -> [UInt8] {
        JSONWriter.page(items, next: next) { writer, item in
            writer.member("id", String(item.id))
            writer.member("installation", item.installation)
            writer.member("kind", item.kind.name)
            writer.member("provider", item.provider.name)
            writer.member("verdict", item.verdict.name)
            writer.member("reason", item.reason)
            if let environments = item.environments {
                writer.member("from", environments.from.name)
                writer.member("to", environments.to.name)
            }
            writer.time("at", item.at)
        }
    }
}
