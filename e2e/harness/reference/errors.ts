import { type OpenApi, operationsOf } from '../openapi.ts'
import { cell, head, markedLine, type Part } from './parts.ts'
import { codesOf, partOf } from './routes.ts'

const ABOUT = `Every value of \`error.code\`. A code keeps its meaning and is never used again for another one. Act on the code, and show \`message\` to
people. The sign … stands for a value in the message.`

interface Explained {
  readonly code: string
  readonly status: number
  readonly meaning: string
}

/** The page of all error codes. */
export function errorsPage(document: OpenApi, parts: readonly Part[]): string {
  // The document says what each code means.
  const explained = Reflect.get(document, 'x-error-codes') as readonly Explained[]
  const rows = [...explained]
    .sort((a, b) => a.status - b.status || (a.code < b.code ? -1 : 1))
    .map((one) =>
      markedLine(
        `| \`${one.code}\` | ${one.status} | ${cell(sentence(one.meaning))} |`,
        ownerOf(one.code, document, parts),
      ),
    )
  return `${head('Error codes', 'the OpenAPI document', ABOUT)}\n| Code | Status | Meaning |\n|---|---|---|\n${rows.join('\n')}\n`
}

/** Messages begin without a capital, and end without a full stop. */
function sentence(text: string): string {
  // But for a word such as eSIM.
  const first = text.replace(/^[a-z](?![A-Z])/, (letter) => letter.toUpperCase())
  return /[.!?…]$/.test(first) ? first : `${first}.`
}

/** The plugin that declares a code, or whose routes alone can answer it. */
function ownerOf(code: string, document: OpenApi, parts: readonly Part[]): Part | undefined {
  const declared = parts.find(({ errors }) => errors.some((one) => one.code === code))
  if (declared !== undefined) return declared
  const owners = new Set(
    operationsOf(document)
      .filter(({ object }) => codesOf(object).includes(code))
      .map((operation) => partOf(operation, parts)),
  )
  const [only] = owners
  return owners.size === 1 ? only : undefined
}
