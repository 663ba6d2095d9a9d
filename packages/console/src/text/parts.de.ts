import type { partsEn } from './parts.en.ts'

/** Texte der Teile, aus denen Seiten bestehen. */
export const partsDe: Readonly<Record<keyof typeof partsEn, string>> = {
  'parts.sort': 'Ordnen nach',
  'parts.sort.none': 'wie sie kommen',
  'parts.goesOn': 'Sie dauert an',
  'parts.wrong.missing': 'Fülle das aus.',
  'parts.wrong.file': 'Wähle eine Datei.',
  'parts.wrong.number': 'Hierher gehört eine ganze Zahl.',
  'parts.wrong.date': 'Hierher gehört ein ganzes Datum.',
  'parts.wrong.short': 'Mindestens {count} {count|Zeichen|Zeichen}.',
  'parts.wrong.long': 'Höchstens {count} {count|Zeichen|Zeichen}.',
  'parts.wrong.low': 'Mindestens {least}.',
  'parts.wrong.high': 'Höchstens {most}.',
  'parts.wrong.form': 'So sieht nicht aus, was hierher gehört.',
}
