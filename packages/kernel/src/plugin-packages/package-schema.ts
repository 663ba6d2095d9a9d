import type { JsonSchema } from '@steeple/contracts'

const SERVICE_IDS = {
  type: 'array',
  uniqueItems: true,
  items: { type: 'string', pattern: '^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_-]*)+$' },
}

const PATH = { type: 'string', maxLength: 200, pattern: '^(/:?[a-zA-Z0-9_.-]+)+$' }
const NAME = { type: 'string', minLength: 1, maxLength: 60 }
const ROLE = { enum: ['viewer', 'operator', 'sim:issuer', 'sim:admin', 'admin'] }
const PAGES = {
  type: 'array',
  maxItems: 20,
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['path', 'title', 'role', 'module'],
    properties: {
      path: PATH,
      title: {
        type: 'object',
        required: ['en'],
        propertyNames: { pattern: '^[a-z]{2}$' },
        additionalProperties: NAME,
      },
      role: ROLE,
      group: { enum: ['now', 'people', 'network', 'care', 'box'] },
      place: { type: 'integer', minimum: 0, maximum: 999 },
      module: PATH,
    },
  },
}
const PANELS = {
  type: 'array',
  maxItems: 20,
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['on', 'role', 'module'],
    properties: {
      on: { type: 'string', pattern: '^[a-z]+(\\.[a-z]+)*$' },
      role: ROLE,
      module: PATH,
    },
  },
}

const TEXT = { type: 'string', minLength: 1, maxLength: 300 }
const MODULE = { type: 'string', pattern: '^\\./[a-zA-Z0-9_-]+(/[a-zA-Z0-9_-]+)*\\.m?js$' }
const NAMED = (values: JsonSchema): JsonSchema => ({
  type: 'object',
  maxProperties: 40,
  additionalProperties: values,
})
const COMMANDS = {
  type: 'array',
  maxItems: 60,
  items: {
    oneOf: [
      {
        type: 'object',
        additionalProperties: false,
        required: ['group', 'summary'],
        properties: {
          group: { type: 'string', pattern: '^[a-z][a-z0-9-]*( [a-z][a-z0-9-]*)?$' },
          summary: TEXT,
        },
      },
      {
        type: 'object',
        required: ['usage', 'summary'],
        oneOf: [{ required: ['operation'] }, { required: ['module'] }],
        properties: {
          usage: {
            type: 'string',
            pattern:
              '^[a-z][a-z0-9-]*( [a-z][a-z0-9-]*){0,3}( (<[a-z-]+(\\.\\.\\.)?>|\\[[a-z-]+(\\.\\.\\.)?\\]))*$',
          },
          summary: TEXT,
          module: MODULE,
          operation: { type: 'string', pattern: '^(GET|POST|PUT|DELETE) /[a-zA-Z0-9_./{}-]{1,200}$' },
          options: NAMED({
            oneOf: [TEXT, { type: 'object', required: ['summary'], properties: { summary: TEXT } }],
          }),
          arguments: NAMED({ type: 'object' }),
          list: {
            type: 'object',
            required: ['key', 'columns'],
            properties: {
              key: TEXT,
              columns: {
                type: 'array',
                minItems: 1,
                maxItems: 20,
                items: {
                  oneOf: [TEXT, { type: 'object', required: ['value'], properties: { value: TEXT } }],
                },
              },
            },
          },
        },
      },
    ],
  },
}

const WELCOME = {
  type: 'array',
  maxItems: 4,
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['name', 'path'],
    properties: {
      name: { type: 'string', pattern: '^[a-zA-Z0-9][a-zA-Z0-9 -]{0,39}$' },
      path: { type: 'string', pattern: '^/[\\x21-\\x7e]{0,200}$' },
      signed_in: { type: 'string', pattern: '^/[\\x21-\\x7e]{0,200}$' },
    },
  },
}

/** What is asked of the `package.json` of a plugin. */
export const PACKAGE_SCHEMA: JsonSchema = {
  type: 'object',
  required: ['name', 'version', 'exports', 'steeple'],
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 214 },
    version: { type: 'string', minLength: 1, maxLength: 64 },
    steeple: {
      type: 'object',
      additionalProperties: false,
      required: ['id', 'kind', 'contracts', 'config_path', 'handover'],
      properties: {
        id: { type: 'string', pattern: '^[a-z][a-z0-9]*(-[a-z0-9]+)*$', maxLength: 40 },
        kind: { enum: ['core', 'hss', 'ran', 'collector', 'feature'] },
        contracts: { type: 'string', minLength: 1, maxLength: 64 },
        config_path: { type: 'string', pattern: '^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)*$' },
        config: { type: 'string', pattern: '^\\./[a-zA-Z0-9_-]+(\\.[a-zA-Z0-9_-]+)*\\.json$' },
        errors: {
          type: 'array',
          items: {
            type: 'object',
            additionalProperties: false,
            required: ['code', 'status', 'meaning'],
            properties: {
              code: { type: 'string', pattern: '^[a-z][a-z0-9_]{2,63}$' },
              status: { type: 'integer', minimum: 400, maximum: 599 },
              meaning: { type: 'string', minLength: 3, maxLength: 300 },
            },
          },
        },
        metrics: {
          type: 'object',
          propertyNames: { pattern: '^svc_[a-z0-9_]+$' },
          additionalProperties: { type: 'string', minLength: 3, maxLength: 300 },
        },
        paths: {
          type: 'object',
          propertyNames: { pattern: '^(/:?[a-zA-Z0-9_.-]+)+$' },
          additionalProperties: {
            type: 'object',
            additionalProperties: false,
            properties: {
              group: { type: 'string', minLength: 1, maxLength: 60 },
              about: { type: 'string', minLength: 1, maxLength: 200 },
              rank: { type: 'integer', minimum: 0, maximum: 1000 },
            },
          },
        },
        pages: PAGES,
        panels: PANELS,
        texts: { type: 'string', pattern: '^\\./[a-zA-Z0-9_-]+$' },
        welcome: WELCOME,
        commands: COMMANDS,
        requires: SERVICE_IDS,
        provides: SERVICE_IDS,
        selected_by: {
          type: 'object',
          additionalProperties: false,
          required: ['key', 'values'],
          properties: {
            key: { type: 'string', pattern: '^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)*$' },
            values: {
              type: 'array',
              minItems: 1,
              uniqueItems: true,
              items: { type: 'string', pattern: '^[a-z][a-z0-9_]{0,63}$' },
            },
          },
        },
        handover: { enum: ['overlap', 'exclusive'] },
        essential: { type: 'boolean' },
        machine: { type: 'boolean' },
      },
    },
  },
}
