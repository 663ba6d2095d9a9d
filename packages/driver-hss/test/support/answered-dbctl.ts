import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Executable } from './stand-in-dbctl.ts'

/** What one run of a tool prints, and its exit code. */
export interface Printed {
  readonly output: string
  readonly code: number
}

/**
 * Makes an executable whose every run is a process, and whose words and standard input are answered by this one: hundreds of runs
 * are hundreds of starts, and that of a shell is a tenth of that of Node.
 */
export async function makeAnsweredDbctl(
  answer: (argv: readonly string[], store: string, input: string) => Promise<Printed>,
): Promise<Executable> {
  const folder = await mkdtemp(join(tmpdir(), 'steeple-dbctl-'))
  const [path, store] = [join(folder, 'open5gs-dbctl'), join(folder, 'store.json')]
  const runs = new Set<Socket>()
  const server = createServer((run) => {
    runs.add(run)
    run.on('close', () => runs.delete(run))
    // A run that was killed reads no more.
    run.on('error', () => run.destroy())
    serve(run, (argv, input) => answer(argv, store, input))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  await writeFile(store, '[]')
  await writeFile(path, script((server.address() as AddressInfo).port))
  await chmod(path, 0o755)
  return {
    path,
    store,
    remove: async () => {
      for (const run of runs) run.destroy()
      server.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The count of the words, the words and, for a batch, standard input: each ends with a zero. The exit code's line comes back, then the output. */
function script(port: number): string {
  return `#!/bin/bash
exec 3<>/dev/tcp/127.0.0.1/${port}
printf '%s\\0' "$#" "$@" >&3
[[ " $* " == *' batch '* ]] && cat >&3
printf '\\0' >&3
read -r code <&3
cat <&3
exit "$code"
`
}

function serve(run: Socket, answer: (argv: readonly string[], input: string) => Promise<Printed>): void {
  let asked = ''
  run.setEncoding('utf8')
  run.on('data', (text: string) => {
    asked += text
    const [count, ...parts] = asked.split('\0')
    const words = Number(count)
    // Behind the last zero there is nothing.
    if (parts.length < words + 2) return
    const input = parts[words] ?? ''
    void answer(parts.slice(0, words), input).then(
      ({ code, output }) => run.end(`${code}\n${output}`),
      (error: unknown) => run.end(`1\n${error instanceof Error ? error.message : 'it failed'}\n`),
    )
  })
}
