import type { Terminal } from '../terminal.ts'

/** One thing that a person types. What is hidden does not appear on the screen. */
export interface Question {
  readonly question: string
  readonly isHidden: boolean
}

/** Password and code, as a login takes them. */
export const LOGIN_QUESTIONS: readonly Question[] = [
  { question: 'Password: ', isHidden: true },
  { question: 'Code of the authenticator, or a recovery code: ', isHidden: false },
]

/** The answers: asked for one by one on a terminal, the lines of standard input otherwise. */
export async function askLines(
  terminal: Terminal,
  questions: readonly Question[],
): Promise<readonly string[]> {
  const { ask } = terminal
  if (ask === undefined) return (await terminal.input()).split(/\r?\n/).slice(0, questions.length)
  const answers: string[] = []
  for (const { question, isHidden } of questions) answers.push(await ask(question, isHidden))
  return answers
}

/** Whether a person says yes; no one does without a terminal. */
export async function agreed(terminal: Terminal, question: string): Promise<boolean> {
  const answer = await terminal.ask?.(`${question} [y/N] `, false)
  return /^y(es)?$/i.test(answer?.trim() ?? '')
}
