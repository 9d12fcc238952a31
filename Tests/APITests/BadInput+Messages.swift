import Requests

// Invalid messages, credentials and keys.
extension BadInput {
    private static let tower = "/v1/apps/tower"

    private static func message(_ name: String, _ body: String, _ code: ProblemCode, at pointer: String? = nil)
        -> BadInput
    {
        BadInput("a message with \(name)", "POST", tower + "/messages", body, code, at: pointer)
    }

    /// A message to all devices, with these members.
    private static func broadcast(_ name: String, _ members: String, _ code: ProblemCode, at pointer: String? = nil)
        -> BadInput
    {
        message(name, #"{"audience": {"all": true}, \#(members)}"#, code, at: pointer)
    }

    private static func audience(_ name: String, _ audience: String, _ code: ProblemCode, at pointer: String? = nil)
        -> BadInput
    {
        message(name, #"{"audience": \#(audience), "notification": {"body": "Noon"}}"#, code, at: pointer)
    }

    private static func count(_ name: String, _ body: String, _ code: ProblemCode, at pointer: String? = nil)
        -> BadInput
    {
        BadInput("a count with \(name)", "POST", tower + "/audience", body, code, at: pointer)
    }

    static let messages: [BadInput] = [
        message("nothing", "{}", .missingMember, at: "/audience"),
        audience("an empty audience", "{}", .invalidValue, at: "/audience"),
        audience("an audience in a string", #""all""#, .wrongType, at: "/audience"),
        audience("two audiences", #"{"all": true, "users": ["ann"]}"#, .invalidValue, at: "/audience"),
        audience("an audience of all that is false", #"{"all": false}"#, .invalidValue, at: "/audience/all"),
        audience("all in a string", #"{"all": "true"}"#, .wrongType, at: "/audience/all"),
        audience("users in a string", #"{"users": "ann"}"#, .wrongType, at: "/audience/users"),
        audience("a user without a name", #"{"users": [""]}"#, .invalidValue, at: "/audience/users/0"),
        audience("a misspelt audience", #"{"everybody": true}"#, .unknownMember, at: "/audience/everybody"),
        audience("a filter on an unknown field", #"{"filter": "a == 1"}"#, .invalidFilter, at: "/audience/filter"),
        audience("tags without any tag", #"{"tags": {}}"#, .invalidValue, at: "/audience/tags"),
        audience(
            "an unknown provider", #"{"all": true, "providers": ["pigeon"]}"#, .invalidValue,
            at: "/audience/providers/0"),
        audience("no provider", #"{"all": true, "providers": []}"#, .invalidValue, at: "/audience/providers"),
        audience(
            "a kind that the push type can't use", #"{"all": true, "kind": "voip"}"#, .notForPushType,
            at: "/audience/kind"),
        audience(
            "a token without its provider", #"{"tokens": [{"token": "00"}]}"#, .missingMember,
            at: "/audience/tokens/0/provider"),
        audience(
            "more users than an audience may name",
            #"{"users": [\#((0...10_000).map { #""u\#($0)""# }.joined(separator: ","))]}"#,
            .valueTooLong, at: "/audience/users"),
        broadcast("a message without content", #""data": {}"#, .nothingToShow, at: ""),
        broadcast(
            "a text in one language alone", #""notification": {"localizations": {"fr": {"body": "Midi"}}}"#,
            .nothingToShow, at: "/notification"),
        broadcast(
            "a blank title beside a badge", #""notification": {"title": " \u200b"}, "badge": "increment""#,
            .nothingToShow, at: "/notification"),
        broadcast(
            "an empty notification beside a sound and data",
            #""notification": {}, "sound": "default", "data": {"a": "b"}"#, .nothingToShow, at: "/notification"),
        broadcast(
            "an empty body in a dry run", #""notification": {"body": ""}, "options": {"dry_run": true}"#,
            .nothingToShow, at: "/notification"),
        broadcast(
            "a blank body with an alert of its own for each provider",
            #""notification": {"body": "\n"}, "apns": {"aps": {"alert": "a"}}, "fcm": {"notification": {"title": "a"}}"#,
            .nothingToShow, at: "/notification"),
        broadcast(
            "a language that blanks the common text",
            #""notification": {"body": "B", "localizations": {"fr": {"body": "\u3000"}}}"#, .nothingToShow,
            at: "/notification/localizations/fr"),
        broadcast("a title that is a number", #""notification": {"title": 1}"#, .wrongType, at: "/notification/title"),
        broadcast("a misspelt title", #""notification": {"titel": "T"}"#, .unknownMember, at: "/notification/titel"),
        broadcast(
            "an invalid locale", #""notification": {"body": "B", "localizations": {"a b": {"body": "C"}}}"#,
            .invalidValue, at: "/notification/localizations"),
        broadcast(
            "a placeholder of an unknown field", #""notification": {"title": "Hi {{name}}"}"#, .invalidTemplate,
            at: "/notification/title"),
        broadcast(
            "a placeholder that is not closed", #""data": {"a": [1, {"b": "{{user"}]}"#, .invalidTemplate,
            at: "/data/a/1/b"),
        broadcast(
            "a placeholder in a member's name", #""notification": {"body": "B"}, "data": {"{{user}}": 1}"#,
            .invalidTemplate,
            at: "/data/{{user}}"),
        broadcast(
            "a placeholder in the collapse id",
            #""notification": {"body": "B"}, "options": {"collapse_id": "{{user}}"}"#,
            .invalidTemplate, at: "/options/collapse_id"),
        broadcast("a badge that decrements", #""badge": "decrement""#, .invalidValue, at: "/badge"),
        broadcast("a badge below zero", #""badge": -1"#, .invalidValue, at: "/badge"),
        broadcast(
            "a badge in two places", #""badge": 1, "apns": {"aps": {"badge": 2}}"#, .badgeTwice, at: "/apns/aps/badge"),
        broadcast("data in a list", #""notification": {"body": "B"}, "data": []"#, .wrongType, at: "/data"),
        broadcast(
            "data with a name reserved by Apple", #""notification": {"body": "B"}, "data": {"aps": 1}"#, .reservedKey,
            at: "/data/aps"),
        message(
            "data with a name reserved by Google",
            #"{"audience": {"all": true, "providers": ["fcm"]}, "notification": {"body": "B"}, "data": {"google.x": 1}}"#,
            .reservedKey, at: "/data/google.x"),
        broadcast(
            "an unknown push type", #""badge": 1, "options": {"push_type": "loud"}"#, .invalidValue,
            at: "/options/push_type"),
        broadcast(
            "an unknown priority", #""badge": 1, "options": {"priority": "urgent"}"#, .invalidValue,
            at: "/options/priority"),
        broadcast(
            "a negative time to live", #""badge": 1, "options": {"ttl_seconds": -1}"#, .invalidValue,
            at: "/options/ttl_seconds"),
        broadcast(
            "a time to live in letters", #""badge": 1, "options": {"ttl_seconds": "1 h"}"#, .wrongType,
            at: "/options/ttl_seconds"
        ),
        broadcast(
            "an hour long ago", #""badge": 1, "options": {"send_at": "2019-01-01T00:00:00Z"}"#, .invalidValue,
            at: "/options/send_at"),
        broadcast(
            "a send time in another century", #""badge": 1, "options": {"send_at": "2127-01-01T00:00:00Z"}"#,
            .invalidValue,
            at: "/options/send_at"),
        broadcast(
            "a long collapse id", #""badge": 1, "options": {"collapse_id": "\#(String(repeating: "c", count: 65))"}"#,
            .invalidCollapseID, at: "/options/collapse_id"),
        broadcast("a misspelt option", #""badge": 1, "options": {"ttl": 1}"#, .unknownMember, at: "/options/ttl"),
        broadcast(
            "a background push with a notification",
            #""notification": {"body": "B"}, "options": {"push_type": "background"}"#,
            .notForBackground, at: "/notification"),
        broadcast(
            "a background push of high priority",
            #""data": {"a": 1}, "options": {"push_type": "background", "priority": "high"}"#, .priorityNotAllowed,
            at: "/options/priority"),
        broadcast(
            "a payload too large for every provider",
            #""notification": {"body": "\#(String(repeating: "b", count: 4_200))"}"#,
            .payloadTooLarge, at: ""),
        broadcast("a provider of a later version", #""badge": 1, "hms": {}"#, .notSupported, at: "/hms"),
        broadcast("APNs' part in a string", #""badge": 1, "apns": "x""#, .wrongType, at: "/apns"),
        count("nothing", "{}", .missingMember, at: "/audience"),
        count("two audiences", #"{"audience": {"all": true, "users": ["ann"]}}"#, .invalidValue, at: "/audience"),
        count("the text of a message", #"{"audience": {"all": true}, "badge": 1}"#, .unknownMember, at: "/badge"),
        count(
            "a misspelt option", #"{"audience": {"all": true}, "options": {"ttl": 1}}"#, .unknownMember,
            at: "/options/ttl"),
        count(
            "a kind that the push type can't use",
            #"{"audience": {"all": true, "kind": "alert"}, "options": {"push_type": "voip"}}"#, .notForPushType,
            at: "/audience/kind"),
        count(
            "an hour long ago", #"{"audience": {"all": true}, "options": {"send_at": "2019-01-01T00:00:00Z"}}"#,
            .invalidValue, at: "/options/send_at"),
        BadInput(
            "a message of an unknown app", "POST", "/v1/apps/nowhere/messages",
            #"{"audience": {"all": true}, "badge": 1}"#,
            .unknownApp),
    ]

    private static func credential(_ name: String, _ body: String, _ code: ProblemCode, at pointer: String? = nil)
        -> BadInput
    {
        BadInput("a credential with \(name)", "POST", tower + "/credentials", body, code, at: pointer)
    }

    private static func key(_ name: String, _ body: String, _ code: ProblemCode, at pointer: String? = nil) -> BadInput
    {
        BadInput("an API key with \(name)", "POST", tower + "/keys", body, code, at: pointer)
    }

    static let secrets: [BadInput] = [
        credential("nothing", "{}", .missingMember, at: "/provider"),
        credential("an unknown provider", #"{"provider": "pigeon"}"#, .invalidValue, at: "/provider"),
        credential(
            "another provider's kind", #"{"provider": "apns", "kind": "service_account", "environment": "production"}"#,
            .invalidValue, at: "/kind"),
        credential(
            "a short key id",
            #"{"provider": "apns", "kind": "token", "environment": "production", "key_id": "A", "team_id": "TEAMID1234", "topics": ["a.b"], "p8": "x"}"#,
            .keyIDMalformed, at: "/key_id"),
        credential(
            "an invalid signing key",
            #"{"provider": "apns", "kind": "token", "environment": "production", "key_id": "ABCDE12345", "team_id": "TEAMID1234", "topics": ["a.b"], "p8": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"}"#,
            .keyUnreadable, at: "/p8"),
        credential(
            "an invalid certificate",
            #"{"provider": "apns", "kind": "certificate", "environment": "sandbox", "pem": "x"}"#,
            .certificateUnreadable, at: "/pem"),
        credential(
            "an account in a string", #"{"provider": "fcm", "kind": "service_account", "service_account": "x"}"#,
            .wrongType,
            at: "/service_account"),
        credential(
            "an empty service account", #"{"provider": "fcm", "kind": "service_account", "service_account": {}}"#,
            .missingMember,
            at: "/service_account/project_id"),
        key("nothing", "{}", .missingMember, at: "/name"),
        key("no scopes", #"{"name": "k"}"#, .missingMember, at: "/scopes"),
        key("empty scopes", #"{"name": "k", "scopes": []}"#, .invalidValue, at: "/scopes"),
        key("an unknown scope", #"{"name": "k", "scopes": ["root"]}"#, .invalidValue, at: "/scopes/0"),
        key("a scope twice", #"{"name": "k", "scopes": ["devices", "devices"]}"#, .invalidValue, at: "/scopes/1"),
        key(
            "an expiration in the past", #"{"name": "k", "scopes": ["devices"], "expires_at": "2020-01-01T00:00:00Z"}"#,
            .invalidValue, at: "/expires_at"),
        key(
            "an invalid expiration", #"{"name": "k", "scopes": ["devices"], "expires_at": "never"}"#, .invalidValue,
            at: "/expires_at"),
        key("a taken name", #"{"name": "phones", "scopes": ["devices"]}"#, .keyNameTaken, at: "/name"),
        key("its own text", #"{"name": "k", "scopes": ["devices"], "key": "carillon_x"}"#, .unknownMember, at: "/key"),
    ]
}
