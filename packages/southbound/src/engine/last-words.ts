import { redacted } from '../redact.ts'

const MOST_LINES = 4
const MOST_CHARACTERS = 600
const COMPLAINT = /\b(?:fatal|error|panic|assert\w*|abort\w*|exception|invalid|failed|cannot|no such)\b/i

/**
 * What a program said before it ended, fit for an error or a log line: its last complaints (its last lines when it has
 * none), one after the other, without control characters, secrets and subscribers' identities. Empty when it said
 * nothing.
 */
export function lastWords(log: string): string {
  const lines = log
    .split(/\r?\n/)
    .map((line) => plain(line).trim())
    .filter((line) => line !== '')
  const complaints = lines.filter((line) => COMPLAINT.test(line))
  const told = (complaints.length > 0 ? complaints : lines).slice(-MOST_LINES)
  return redacted([...new Set(told)].join(' | ')).slice(-MOST_CHARACTERS)
}

/** Without terminal sequences and control characters. */
function plain(line: string): string {
  return line
    .replaceAll(/\p{Cc}\[[0-9;?]*[A-Za-z]/gu, '')
    .replaceAll(/\p{Cc}/gu, ' ')
    .slice(0, 2_000)
}
