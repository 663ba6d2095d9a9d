import { resolve } from 'node:path'
import { checkConfig, DEFAULT_CONFIG_FILE } from '@steeple/settings'
import { sectionsHere } from '../composition/sections.ts'
import { jsonText } from '../output/print.ts'
import { COMMAND_VARIABLES } from '../place.ts'
import type { Terminal } from '../terminal.ts'

/** `svc config check FILE`: one line per problem, exit code 1 when there is one. */
export async function checkConfigFile(
  terminal: Terminal,
  named: string | undefined,
  isJson: boolean,
): Promise<void> {
  const file = resolve(terminal.cwd, named ?? DEFAULT_CONFIG_FILE)
  const source = { file, env: terminal.env, knownVariables: COMMAND_VARIABLES }
  const report = checkConfig({ ...source, sections: sectionsHere(source) })
  if (isJson) terminal.out(jsonText({ valid: report.isValid, lines: report.lines, network: report.network }))
  else (report.isValid ? terminal.out : terminal.err)(report.lines.map((line) => `${line}\n`).join(''))
  if (!report.isValid) terminal.answer(1)
}
