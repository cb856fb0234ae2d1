/// The completion script of a shell. Each script only calls the program, so that all shells offer the same words.
package enum CompletionScript: String, CaseIterable, Sendable {
    case bash, zsh, fish

    /// The command that a script calls: `lodge __complete WORD… CURRENT`.
    package static let request = "__complete"
    /// Output instead of candidates: file names. A tab and the prefix within the word may follow.
    package static let files = ":files"
    /// Output instead of candidates: folder names.
    package static let folders = ":folders"

    package func text(program: String) -> String {
        let text =
            switch self {
            case .bash: Self.bashText
            case .zsh: Self.zshText
            case .fish: Self.fishText
            }
        return text.replacing("PROGRAM", with: program)
    }

    // Bash also splits words at "=", ":" and "@", and replaces only the last part. The script therefore takes the words
    // from the line, and removes the preceding parts from the candidates.
    private static let bashText = #"""
        # bash completion of PROGRAM. To use it: source <(PROGRAM completion bash)
        _PROGRAM_complete() {
            local before=${COMP_LINE:0:COMP_POINT} words=() current= reply cut line
            read -ra words <<<"$before"
            if [[ $before == *[[:space:]] || ${#words[@]} -lt 2 ]]; then
                words+=("")
            fi
            current=${words[-1]}
            cut=${current%"$2"}
            COMPREPLY=()
            while IFS= read -r line; do
                case $line in
                    :files | :folders | :files$'\t'*)
                        # After an @ the word is no file's name to bash: it would quote the @.
                        [[ $line == *$'\t'* ]] || compopt -o filenames 2>/dev/null
                        local kind=-f path begun=${line#*$'\t'}
                        [[ $line == :folders ]] && kind=-d
                        [[ $line == *$'\t'* ]] || begun=${current%"${current#--*=}"}
                        while IFS= read -r path; do
                            reply=$begun$path
                            if [[ $line == *$'\t'* ]]; then
                                printf -v reply '%s%q' "$begun" "$path"
                                [[ -d $path ]] && reply+=/ && compopt -o nospace 2>/dev/null
                            fi
                            COMPREPLY+=("${reply#"$cut"}")
                        done < <(compgen "$kind" -- "${current#"$begun"}")
                        return
                        ;;
                esac
                reply=${line%%$'\t'*}
                [[ $reply == "$current"* ]] || continue
                printf -v reply %q "${reply#"$cut"}"
                # A comma needs no backslash, and with one the next field would not be found.
                reply=${reply//\\,/,}
                COMPREPLY+=("$reply")
            done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
        }
        complete -F _PROGRAM_complete PROGRAM

        """#

    private static let zshText = #"""
        #compdef PROGRAM
        # zsh completion of PROGRAM. To use it: source <(PROGRAM completion zsh), or put it into your fpath as _PROGRAM.
        _PROGRAM() {
            local -a offered
            local line word
            for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
                case $line in
                    :files) if [[ $PREFIX == --*=* ]]; then compset -P '*='; fi; _files; return ;;
                    :files$'\t'*) compset -p $(( ${#line} - 7 )); _files; return ;;
                    :folders) if [[ $PREFIX == --*=* ]]; then compset -P '*='; fi; _files -/; return ;;
                    '') continue ;;
                esac
                word=${line%%$'\t'*}
                word=${word//\\/\\\\}
                offered+=("${word//:/\\:}:${line#*$'\t'}")
            done
            _describe -t words PROGRAM offered
        }
        if [ "$funcstack[1]" = _PROGRAM ]; then _PROGRAM "$@"; else compdef _PROGRAM PROGRAM; fi

        """#

    private static let fishText = #"""
        # fish completion of PROGRAM. To use it: PROGRAM completion fish | source
        function __PROGRAM_complete
            set -l words (commandline -opc) (commandline -ct)
            set -l answer ($words[1] __complete $words[2..-1] 2>/dev/null)
            switch "$answer[1]"
                case :files
                    __fish_complete_path (commandline -ct)
                case ":files"\t"*"
                    set -l begun (string split -m 1 \t -- $answer[1])[2]
                    for path in (__fish_complete_path (string replace -- $begun '' (commandline -ct)))
                        printf '%s%s\n' $begun $path
                    end
                case :folders
                    __fish_complete_directories (commandline -ct)
                case '*'
                    printf '%s\n' $answer
            end
        end
        complete -c PROGRAM -f -a '(__PROGRAM_complete)'

        """#
}
