/** Texts of the parts that pages are made of. */
export const partsEn = {
  'parts.sort': 'Sort by',
  'parts.sort.none': 'as they come',
  'parts.goesOn': 'It still goes on',
  'parts.wrong.missing': 'Fill this in.',
  'parts.wrong.file': 'Choose a file.',
  'parts.wrong.number': 'A whole number belongs here.',
  'parts.wrong.date': 'A whole date belongs here.',
  'parts.wrong.short': 'At least {count} {count|character|characters}.',
  'parts.wrong.long': 'At most {count} {count|character|characters}.',
  'parts.wrong.low': 'At least {least}.',
  'parts.wrong.high': 'At most {most}.',
  'parts.wrong.form': 'It does not look like what belongs here.',
} as const

declare module './index.ts' {
  interface AreaTexts {
    readonly parts: typeof partsEn
  }
}
