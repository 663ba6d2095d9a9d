import { Document, isScalar, Scalar, visit } from 'yaml'

/** What may stand in a rendered file. */
export type YamlValue =
  | string
  | number
  | boolean
  | readonly YamlValue[]
  | { readonly [key: string]: YamlValue }

/** A part of a rendered file: keys as the core spells them. */
export type Section = { readonly [key: string]: YamlValue }

const HEADER = ' Written by Steeple. Changes made here are lost with the next one.'

/**
 * A YAML file in which every text is quoted, so that no reader takes `05`, `010203`, `no` or `1e3` for anything but a text.
 *
 * Numbers, truth values and keys stay plain; no key of the core reads as anything but a text. Same value, same bytes.
 */
export function yamlText(value: Section): string {
  const document = new Document(value, { aliasDuplicateObjects: false })
  document.commentBefore = HEADER
  visit(document, {
    Pair: (_key, { value: item }) => {
      quote(item)
    },
    Seq: (_key, { items }) => {
      for (const item of items) quote(item)
    },
  })
  return document.toString({ lineWidth: 0, minContentWidth: 0 })
}

function quote(node: unknown): void {
  if (isScalar(node) && typeof node.value === 'string') node.type = Scalar.QUOTE_DOUBLE
}
