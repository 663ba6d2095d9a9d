import { bundledPlugins } from '../plugin-manifests.ts'

/** A plugin of this checkout, by its manifest. */
export interface Part {
  /** The name of its package. */
  readonly name: string
  readonly id: string
  readonly isOptional: boolean
  readonly metrics: Readonly<Record<string, string>>
  readonly errors: readonly { readonly code: string }[]
}

export function partsHere(): readonly Part[] {
  return bundledPlugins().map(({ name, manifest: { id, essential, metrics = {}, errors = [] } }) => ({
    name,
    id,
    isOptional: essential !== true,
    metrics,
    errors,
  }))
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
