// The command that users start: it asks the agent, and otherwise replaces itself with the complete program. It is statically linked and
// loads no library, so that a token from the agent takes a millisecond. The agent's process is this program, too, because it needs little
// memory.

import AgentProtocol
import LodgeAgent

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == AgentProcess.command { _exit(AgentProcess.run(arguments)) }

guard let launcher = ProcessIdentity.programPath else {
    fail("the path of lodge is unknown", 1)
}
let program = AgentSocket.folder(of: launcher) + "/../libexec/lodge/lodge"
Launch.replaceProcess(
    with: program, CommandLine.unsafeArgv, Delegation(arguments, program: program), launcher: launcher)
fail("\(program): \(String(cString: strerror(errno)))", 1)

func fail(_ reason: String, _ status: Int32) -> Never {
    let text = "lodge: cannot start lodge: \(reason)\nhint: install lodge again\n"
    text.withCString { _ = write(2, $0, strlen($0)) }
    _exit(status)
}
