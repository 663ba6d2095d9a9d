import { configInvalid } from '@steeple/contracts'
import { type Problem, pointerOf } from './config-tree.ts'

/** User and password of every URL in a text become `***`. Messages about configuration go through this. */
export function redactUrls(text: string): string {
  // Begins at the slashes: to look for the scheme before them costs the square of the length.
  return text.replaceAll(/:\/\/[^\s/?#"']*@/g, '://***@')
}

/** Throws `config_invalid` with one line per problem; does nothing when there is none. */
export function refuse(problems: readonly Problem[]): void {
  if (problems.length === 0) return
  const details = problems.map(({ key, message }) => ({
    pointer: pointerOf(key.split(/[.[\]]+/).filter((segment) => segment !== '')),
    message: redactUrls(message),
  }))
  throw configInvalid(problems.toSorted(byPlace).map(lineOf).join('\n'), { details })
}

/** File problems in the order of the file, then the others as they came. */
function byPlace(a: Problem, b: Problem): number {
  return position(a) - position(b)
}

function position({ place }: Problem): number {
  const match = /:(\d+):(\d+)$/.exec(place)
  return match === null ? Number.MAX_SAFE_INTEGER : Number(match[1]) * 1e6 + Number(match[2])
}

/** A problem as one line for a terminal. */
export function lineOf({ place, key, message }: Problem): string {
  const subject = key === '' ? message : `${key} ${message}`
  const line = redactUrls(place === '' ? subject : `${place}: ${subject}`).replaceAll(/[\r\n]+/g, ' ')
  return line.replaceAll(/\p{Cc}/gu, escaped)
}

/** A control character of the file as text: the line goes to a terminal. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
