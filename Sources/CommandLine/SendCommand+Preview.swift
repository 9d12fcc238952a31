import JSON

// The preview: what phones would get. The gateway is asked about the named devices only.
extension SendCommand {
    func show(_ message: JSONObject, _ receivers: TestReceivers?) async throws {
        var message = message
        if message["audience"] == nil { message["audience"] = receivers?.parts.first?.audience }
        let preview = try MessagePreview(JSONValue.object(message).bytes, app: try app.slug())
        let phone = try await phone(for: message, isTemplate: preview.isTemplate)
        if app.gateway.json { return writeJSON(preview.json(phone)) }
        for line in preview.lines(phone) { Console.write(line) }
    }

    /// The device of the preview: one in the given locale, else the one named installation.
    private func phone(for message: JSONObject, isTemplate: Bool) async throws(CommandFault) -> PreviewDevice {
        let names = message["audience"]?.object?["installations"]?.array?.compactMap(\.string) ?? []
        let devices = try await devices(names)
        let asksLocale = locale == nil && message["notification"]?.object?["localizations"] != nil
        guard asksLocale || isTemplate, names.count == 1, let device = devices.first else {
            if isTemplate { remark("For a device without attributes:") }
            return PreviewDevice(locale: locale, device: nil)
        }
        let theirs = device.object?["locale"]?.string
        if isTemplate { remark("With the attributes of \(names[0]):") }
        if asksLocale, let theirs { remark("In the language of \(names[0]), \(theirs):") }
        return PreviewDevice(locale: asksLocale ? theirs : locale, device: device)
    }

    /// Reads the named installations. Throws if the gateway does not know one of them. A preview works without a
    /// gateway too, and then says that it is a guess.
    private func devices(_ names: [String]) async throws(CommandFault) -> [JSONValue] {
        var devices: [JSONValue] = []
        for name in names {
            do throws(CommandFault) {
                let client = try app.gateway.client()
                devices.append(try await client.get(try app.path("devices", name), as: .wholeDevice))
            } catch {
                if error.code == "unknown_device" { remark("No preview: the installation \(name) is unknown.") }
                guard error.kind != .refused else { throw error }
                remark("Not compared with the registry, so for any device: \(error.description)")
                return []
            }
        }
        return devices
    }
}
