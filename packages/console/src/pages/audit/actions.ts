import { word, wordsOf } from '../../text/index.ts'

/** The actions that have words, for the list to choose from, in the order of those. */
export function knownActions(): readonly { readonly value: string; readonly label: string }[] {
  return wordsOf('audit.do')
    .map((value) => ({ value, label: word('audit.do', value) }))
    .toSorted((a, b) => a.label.localeCompare(b.label))
}

/** What an action is in words, or what is told of it when it has happened; its name where there are neither. */
export function actionText(action: string): string {
  const text = word('audit.do', action)
  return text === action ? word('event', action) : text
}
