import CommandLineKit
import OAuth2AccountStore

/// The page of a preset in the documentation, from the same file as `lodge providers show`.
struct PresetPage {
    let preset: ProviderPreset

    /// Returns the pages of a catalog, with the names of their files: a list of the presets, and a page for each.
    static var all: [(name: String, text: String)] {
        let presets = ProviderPreset.all.map { ("\(name($0)).md", PresetPage(preset: $0).text) }
        return [("lodge-presets.md", list)] + presets
    }

    private static func name(_ preset: ProviderPreset) -> String { name(preset.name) }

    private static var list: String {
        let rows = ProviderPreset.all.map { preset in
            [
                "<doc:\(name(preset))>", ReferencePage.code(preset.name),
                preset.requiredKeys.map(ReferencePage.code).joined(separator: ", "),
            ]
        }
        let lines =
            [
                "# Providers", "",
                "The providers with a preset, how to register a client with each, and notes about them.", "",
                "## Overview", "",
                "A preset contains the endpoints, scopes and quirks of a provider. You add the keys in the last column.",
                "For a provider without a preset that has OpenID Connect, use <doc:\(name("openid"))>.", "",
            ] + ReferencePage.table(["Provider", "Preset", "Keys to add"], rows)
            + ["## Topics", "", "### Presets", ""] + ProviderPreset.all.map { "- <doc:\(name($0))>" }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func name(_ preset: String) -> String { "lodge-preset-\(preset)" }

    private var text: String {
        var lines = ["# \(ReferencePage.escaped(preset.title))", ""]
        lines += [
            "How to register a client for the preset `\(preset.name)`, and notes about this provider.", "",
        ]
        lines += ["## Overview", ""]
        if !preset.registrationSteps.isEmpty {
            lines += ["### Register a client", ""]
            lines += preset.registrationSteps.enumerated().map {
                "\($0.offset + 1). \(ReferencePage.escaped($0.element))"
            }
            lines.append("")
        }
        lines += ["### Add the account type", ""]
        let setUp = preset.isComplete ? [] : [CommandError.addCommand(preset).description]
        lines += ReferencePage.block(setUp.map { "$ " + $0 } + ["$ lodge sign-in \(preset.name)"])
        if preset.offersRegistration {
            lines += ["With `--register` instead of `--client-id`, lodge registers the client (RFC 7591).", ""]
        }
        lines += keys
        if !preset.notes.isEmpty {
            lines += ["### Notes", ""] + preset.notes.map { "- " + ReferencePage.escaped($0) } + [""]
        }
        lines += ["### Tests", ""] + preset.tests.map { "- " + ReferencePage.escaped($0) } + [""]
        if !preset.documentation.isEmpty {
            lines += ["### The provider's documentation", ""] + preset.documentation.map { "- <\($0)>" }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The values that the preset does not know.
    private var keys: [String] {
        let rows = preset.placeholders.map { one in
            [
                ReferencePage.code(one.name), ReferencePage.escaped(one.meaning),
                one.defaultValue.map(ReferencePage.code) ?? "required",
            ]
        }
        return rows.isEmpty ? [] : ReferencePage.table(["Value of `--set`", "Meaning", "Default"], rows)
    }
}
