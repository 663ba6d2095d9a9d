import { Argument, type Command } from 'commander'
import type { Terminal } from '../terminal.ts'

/** One command and the words that may follow it. */
interface Node {
  readonly path: string
  readonly words: readonly string[]
}

/** `svc completion bash|zsh|fish` */
export function addCompletionCommand(program: Command, terminal: Terminal): void {
  program
    .command('completion')
    .description('a script that completes commands: eval "$(svc completion bash)"')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .action((shell: string) => {
      const nodes = tree(program, '')
      terminal.out(shell === 'fish' ? fishScript(nodes) : bashScript(nodes, shell === 'zsh'))
    })
}

function tree(command: Command, path: string): readonly Node[] {
  const inner = command.commands.map((child) => tree(child, `${path} ${child.name()}`.trim()))
  const names = command.commands.map((child) => child.name())
  const options = command.options.map((option) => option.long).filter((long) => typeof long === 'string')
  return [{ path, words: [...names, ...options, '--help'] }, ...inner.flat()]
}

/** zsh runs the same functions through its `bashcompinit`. */
function bashScript(nodes: readonly Node[], isZsh: boolean): string {
  const cases = nodes.map(({ path, words }) => `    '${path}') words='${words.join(' ')}' ;;`).join('\n')
  return `${isZsh ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}_svc_completion() {
  local path='' word words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$word" in -*) continue ;; esac
    case "$path $word" in
${nodes
  .slice(1)
  .map(({ path }) => `      '${path.includes(' ') ? path : ` ${path}`}') path='${path}' ;;`)
  .join('\n')}
    esac
  done
  case "$path" in
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _svc_completion svc
`
}

function fishScript(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, words }) => {
    const names = path === '' ? [] : path.split(' ')
    const seen = names.map((name) => `__fish_seen_subcommand_from ${name}`).join('; and ')
    const condition = seen === '' ? '__fish_use_subcommand' : seen
    return words.map((word) =>
      word.startsWith('--')
        ? `complete -c svc -n '${condition}' -l ${word.slice(2)}`
        : `complete -c svc -n '${condition}' -a ${word}`,
    )
  })
  return `${lines.join('\n')}\n`
}
