import CommandLineKit
import DirectorySearch

/// A value of a user that can be copied.
struct CopyChoice: Hashable, Sendable {
    /// The name of the value: `Mail`.
    var label: String
    var text: String
    var summary: String?
}

// MARK: Copy, mark, export

extension BrowseModel {
    static let maximumMarked = 5000

    mutating func copyMail() {
        if isForOtherText { return saySearching() }
        guard let row = list.selection else { return sayNoUser() }
        guard let mail = copyChoices(row).first(where: { $0.label == "Mail" }) else {
            return say("\(row.name) has no mail address; y lists what can be copied.", .warning)
        }
        copy(mail)
    }

    mutating func openCopyMenu() {
        if isForOtherText { return saySearching() }
        guard let row = list.selection else { return sayNoUser() }
        let choices = copyChoices(row)
        guard !choices.isEmpty else { return say("There is nothing to copy.", .warning) }
        overlay = .copyMenu(choices, selected: 0)
    }

    mutating func copy(_ choice: CopyChoice) {
        copying = choice.summary ?? choice.text
        emit(.copy(choice.text))
    }

    mutating func takeCopied(_ text: String, _ tool: String) {
        let what = TerminalText.truncated((copying ?? text).visible, to: 60)
        copying = nil
        say("Copied \(what) by \(tool.visible).", .good)
    }

    /// Returns the known values of a user that can be copied, the most useful first.
    func copyChoices(_ row: ResultList.Row) -> [CopyChoice] {
        let user = details[row.id].flatMap { $0.isWhole ? $0.detail.user : nil } ?? row.user
        var choices: [CopyChoice] = []
        func add(_ label: String, _ text: String?) {
            // Pasted control characters could act as keys in the target program.
            guard let text = text.map(Self.pasteable), !text.isEmpty else { return }
            choices.append(CopyChoice(label: label, text: text))
        }
        add("Mail", user.mail)
        add("Name", user.displayName)
        if let name = user.displayName, let mail = user.mail {
            add("Name and mail", "\(name.filter { !"\"<>".contains($0) }) <\(mail)>")
        }
        for phone in user.businessPhones.prefix(20) { add("Phone", phone) }
        add("Mobile", user.mobilePhone)
        add("Title", user.jobTitle)
        add("Department", user.department)
        add("Office", user.officeLocation)
        add("UPN", user.userPrincipalName)
        add("Id", user.id)
        if !row.id.isEmpty {
            choices.append(CopyChoice(label: "vCard", text: VCard(user).text, summary: "the vCard of \(row.name)"))
        }
        return choices
    }

    private static func pasteable(_ text: String) -> String {
        var cleaned = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: cleaned.append(" ")
            default: cleaned.append(scalar)
            }
        }
        return String(cleaned)
    }

    mutating func toggleMark() {
        if isForOtherText { return saySearching() }
        guard let row = list.selection, !row.id.isEmpty else { return sayNoUser() }
        if markedIDs.remove(row.id) != nil {
            marked.removeAll { $0.id == row.id }
        } else if marked.count >= Self.maximumMarked {
            say("At most \(Self.grouped(Self.maximumMarked)) users can be marked.", .warning)
        } else {
            markedIDs.insert(row.id)
            marked.append(row)
        }
    }

    /// Prompts for the export file of the marked users.
    mutating func openExport() {
        guard !marked.isEmpty else { return say("No user is marked: space in the list marks a user.", .warning) }
        overlay = .export(QueryText("users.vcf"))
    }

    mutating func pressInExport(_ key: Key, _ file: QueryText) {
        var file = file
        switch key {
        case .enter: export(to: file.text)
        case .escape: overlay = nil
        default:
            file.edit(key)
            overlay = .export(file)
        }
    }

    private mutating func export(to file: String) {
        guard let format = BrowseExportFormat(file: file) else {
            let extensions = BrowseExportFormat.allCases.map { ".\($0.rawValue)" }
            return say(
                "The file name must end with \(extensions.dropLast().joined(separator: ", ")) or \(extensions.last ?? "").",
                .warning)
        }
        say("Writing \(counted(marked.count, "user", "users"))…", .dimmed)
        emit(.export(marked.map(\.user), file: file, format))
    }
}
