import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../launch.ts'

/** A plugin of this checkout, by its manifest. */
export interface Part {
  /** The name of its package. */
  readonly name: string
  readonly id: string
  readonly isOptional: boolean
  readonly metrics: Readonly<Record<string, string>>
  readonly errors: readonly { readonly code: string }[]
}

interface Manifest {
  readonly steeple?: {
    readonly id: string
    readonly essential?: boolean
    readonly metrics?: Readonly<Record<string, string>>
    readonly errors?: readonly { readonly code: string }[]
  }
}

/** All plugins of this checkout. */
export function partsHere(): readonly Part[] {
  return readdirSync(join(ROOT, 'packages'))
    .sort()
    .flatMap((name) => {
      const { steeple } = manifestOf(name)
      if (steeple === undefined) return []
      const { id, essential, metrics = {}, errors = [] } = steeple
      return [{ name, id, isOptional: essential !== true, metrics, errors }]
    })
}

/** A line of a list or a table, with the mark of the package that a build may lack. */
export function markedLine(line: string, part: Part | undefined): string {
  return part?.isOptional === true ? `${line} <!-- package: ${part.name} -->` : line
}

/** A part of a page, with the marks of the package that a build may lack. */
export function markedPart(text: string, part: Part | undefined): string {
  return part?.isOptional === true ? `<!-- package: ${part.name} -->\n${text}\n<!-- /package -->` : text
}

/** What a page says first. `from`: what it is made of. */
export function head(title: string, from: string, about: string): string {
  return `# ${title}\n\n<!-- Made by e2e/harness/reference/make.ts from ${from}. Do not edit. -->\n\n${about}\n`
}

/** A text as it stands in a cell of a table. */
export function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '\\<').replaceAll(/\s+/g, ' ')
}

function manifestOf(name: string): Manifest {
  try {
    return JSON.parse(readFileSync(join(ROOT, 'packages', name, 'package.json'), 'utf8'))
  } catch {
    return {}
  }
}
