import CommandLineKit
import TerminalBrowser
import LodgePlatform
import Dispatch
import OAuth2AccountStore

/// Copies text to the clipboard with the desktop's program.
struct BrowseClipboard: Sendable {
    let environment: [String: String]
    /// Runs a program with these bytes on its standard input and returns whether it succeeded.
    var run: @Sendable (_ words: [String], _ input: [UInt8], _ environment: [String: String]) async -> Bool = {
        await ProgramWithInput(words: $0, environment: $2).run(input: $1)
    }

    var candidates: [[String]] {
        func has(_ name: String) -> Bool { environment[name]?.isEmpty == false }
        var programs: [[String]] = platformValue(linux: [], darwin: [["pbcopy"]])
        if has("WAYLAND_DISPLAY") { programs.append(["wl-copy"]) }
        if has("DISPLAY") {
            programs += [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
        }
        return programs
    }

    /// Copies a string and returns the name of the program used, or `nil` if all failed.
    func copy(_ text: String) async -> String? {
        for words in candidates where await run(words, Array(text.utf8), environment) { return words.first }
        return nil
    }
}

/// A program that gets its data on standard input, because other users can see arguments.
struct ProgramWithInput: Sendable {
    var words: [String]
    var environment: [String: String]

    private static let patience: Int32 = 3000

    /// Runs the program on a Dispatch thread. Returns whether it read the text and succeeded in time.
    func run(input: [UInt8]) async -> Bool {
        await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .userInitiated).async { continuation.resume(returning: runNow(input)) }
        }
    }

    private func runNow(_ input: [UInt8]) -> Bool {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return false }
        let (reader, writer) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // Its output must not reach the screen. It may continue in the background, like wl-copy.
        let child = try? ChildProcess.start(
            words, environment: environment, input: reader, isSilent: true, hasOwnGroup: true
        ).get()
        close(reader)
        guard let child else {
            close(writer)
            return false
        }
        _ = fcntl(writer, F_SETFL, O_NONBLOCK)
        let end = ContinuousClock.now + .milliseconds(Int(Self.patience))
        let isTaken = give(input, to: writer, until: end)
        // Close the input, because the program waits for its end.
        close(writer)
        return wait(for: child, until: isTaken ? end : .now)
    }

    private func give(_ input: [UInt8], to writer: Int32, until end: ContinuousClock.Instant) -> Bool {
        let isWritten: Void? = try? FileDescriptor.write(writer, input[...]) { () throws(SystemError) in
            guard ContinuousClock.now < end else { throw SystemError(EAGAIN) }
            FileDescriptor.waitForRoom(writer, 50)
        }
        return isWritten != nil
    }

    private func wait(for child: pid_t, until end: ContinuousClock.Instant) -> Bool {
        var status: Int32 = 0
        while true {
            let found = waitpid(child, &status, WNOHANG)
            if found == child { return status == 0 }
            if found < 0, errno != EINTR { return false }
            if ContinuousClock.now >= end { break }
            usleep(5000)
        }
        kill(child, SIGKILL)
        ChildProcess.waitForExit(child)
        return false
    }
}
