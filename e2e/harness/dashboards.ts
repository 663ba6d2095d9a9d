import type { AnySchemaObject } from 'ajv'

const datasource = {
  type: 'object',
  required: ['type', 'uid'],
  properties: { type: { const: 'prometheus' } },
}
const grid = {
  type: 'object',
  required: ['h', 'w', 'x', 'y'],
  additionalProperties: false,
  properties: {
    h: { type: 'integer', minimum: 1, maximum: 40 },
    w: { type: 'integer', minimum: 1, maximum: 24 },
    x: { type: 'integer', minimum: 0, maximum: 23 },
    y: { type: 'integer', minimum: 0 },
  },
}
const target = {
  type: 'object',
  required: ['refId', 'expr', 'datasource'],
  properties: {
    refId: { type: 'string', pattern: '^[A-Z]$' },
    expr: { type: 'string', minLength: 3 },
    datasource,
  },
}
const panel = {
  type: 'object',
  required: ['id', 'type', 'title', 'gridPos'],
  properties: {
    id: { type: 'integer', minimum: 1 },
    type: { enum: ['row', 'stat', 'timeseries'] },
    title: { type: 'string', minLength: 1 },
    gridPos: grid,
    targets: { type: 'array', minItems: 1, items: target },
  },
  if: { properties: { type: { const: 'row' } } },
  // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
  then: { required: ['collapsed', 'panels'] },
  else: {
    required: ['targets', 'datasource', 'fieldConfig', 'options'],
    properties: {
      datasource,
      fieldConfig: {
        type: 'object',
        required: ['defaults', 'overrides'],
        properties: { defaults: { type: 'object', required: ['unit'] }, overrides: { type: 'array' } },
      },
    },
  },
}

/** What Grafana's dashboard model asks of a file that is imported, as far as ours uses it. */
export const DASHBOARD: AnySchemaObject = {
  type: 'object',
  required: ['uid', 'title', 'schemaVersion', 'version', 'time', 'templating', 'annotations', 'panels'],
  properties: {
    uid: { type: 'string', pattern: '^[a-z0-9-]{1,40}$' },
    title: { type: 'string', minLength: 1 },
    schemaVersion: { type: 'integer', minimum: 36 },
    version: { type: 'integer' },
    time: { type: 'object', required: ['from', 'to'] },
    annotations: { type: 'object', required: ['list'] },
    templating: {
      type: 'object',
      required: ['list'],
      properties: {
        list: { type: 'array', items: { type: 'object', required: ['name', 'type', 'query'] } },
      },
    },
    panels: { type: 'array', minItems: 1, items: panel },
  },
}

/** A dashboard, as far as it is looked at beyond the schema. */
export interface Dashboard {
  readonly uid: string
  readonly templating: { readonly list: readonly { readonly name: string }[] }
  readonly panels: readonly Panel[]
}

export interface Panel {
  readonly id: number
  readonly title: string
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number }
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[]
}

/** The expressions of a dashboard as Grafana sends them, and what they are of. */
export function expressionsOf({
  panels,
}: Dashboard): readonly { readonly title: string; readonly expr: string }[] {
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*'),
    })),
  )
}

/** The metrics that an expression names, histograms by their own name. */
export function metricsIn(expression: string): ReadonlySet<string> {
  const bare = expression.replaceAll(/"[^"]*"|'[^']*'/g, '')
  const names = bare.match(/\b(svc|process|nodejs)_[a-z0-9_]+/g) ?? []
  return new Set(names.map((name) => name.replace(/_(bucket|count|sum)$/, '')))
}

/** What lies over one another or beyond the edge. */
export function misplaced({ panels }: Dashboard): readonly string[] {
  const over = panels
    .filter(({ gridPos: { x, w } }) => x + w > 24)
    .map(({ title }) => `${title}: beyond the edge`)
  const pairs = panels.flatMap((one, at) =>
    panels
      .slice(at + 1)
      .filter((other) => overlap(one.gridPos, other.gridPos))
      .map((other) => `${one.title} lies over ${other.title}`),
  )
  return [...over, ...pairs]
}

function overlap(one: Panel['gridPos'], other: Panel['gridPos']): boolean {
  const isBeside = one.x + one.w <= other.x || other.x + other.w <= one.x
  const isBelow = one.y + one.h <= other.y || other.y + other.h <= one.y
  return !isBeside && !isBelow
}
