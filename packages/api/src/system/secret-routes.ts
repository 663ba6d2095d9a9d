import {
  type JsonSchema,
  notFound,
  objectSchema,
  ok,
  pluginNotFound,
  type Reply,
  type Request,
  type Route,
  route,
} from '@steeple/contracts'
import type { EdgeCore } from '../edge-core.ts'

const NAME: JsonSchema = { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,63}$' }
const KEY: JsonSchema = { type: 'string', pattern: '^[a-z][a-z0-9_.]{0,127}$' }
const KEY_PARAMS: JsonSchema = objectSchema({ name: NAME, key: KEY }, ['name', 'key'])
const STATE: JsonSchema = objectSchema(
  {
    key: KEY,
    from: {
      type: 'string',
      description: 'file (its path is in the configuration), store or nowhere. May grow.',
    },
  },
  ['key', 'from'],
)
const VALUE_BODY: JsonSchema = objectSchema(
  { value: { type: 'string', minLength: 1, maxLength: 65_536, description: 'It is never shown again.' } },
  ['value'],
)

interface KeyParams {
  readonly name: string
  readonly key: string
}

/** The secrets of plugins over HTTP: which there are, and their values in one direction. */
export function secretRoutes(core: EdgeCore): readonly Route[] {
  const { registry } = core.kernel
  const errors = [pluginNotFound.code, notFound.code]
  return [
    route<{ readonly name: string }, unknown, unknown>({
      method: 'GET',
      path: '/v1/plugins/:name/secrets',
      role: 'admin',
      summary: 'The secrets that a plugin keeps, and where each value is',
      description: 'Names only: a value is sealed in the store, in a file, or missing.',
      schema: {
        params: objectSchema({ name: NAME }, ['name']),
        response: objectSchema({ secrets: { type: 'array', items: STATE } }, ['secrets']),
      },
      errors: [pluginNotFound.code],
      handle: async ({ params }) => ok({ secrets: await registry.secrets(params.name) }),
    }),
    route<KeyParams, unknown, { readonly value: string }>({
      method: 'PUT',
      path: '/v1/plugins/:name/secrets/:key',
      role: 'admin',
      audit: 'plugin.secret.set',
      summary: 'Seals the value of a secret of a plugin, which alone can read it',
      description: 'A file that the configuration names for the same key wins over it.',
      schema: { params: KEY_PARAMS, body: VALUE_BODY, response: STATE },
      errors,
      handle: async (request) => await change(request.params, request.body.value, request),
    }),
    route<KeyParams, unknown, unknown>({
      method: 'DELETE',
      path: '/v1/plugins/:name/secrets/:key',
      role: 'admin',
      audit: 'plugin.secret.remove',
      summary: 'Removes the sealed value of a secret',
      description:
        'The plugin goes on without it from the next start, or reload, on. A value in a file stays.',
      schema: { params: KEY_PARAMS, response: STATE },
      errors,
      handle: async (request) => await change(request.params, undefined, request),
    }),
  ]

  async function change(
    { name, key }: KeyParams,
    value: string | undefined,
    request: Pick<Request, 'mutate'>,
  ): Promise<Reply> {
    // Anything can be typed or pasted as a name: what is none of ours gets into no audit entry.
    const keys = (await registry.secrets(name)).map((one) => one.key)
    if (!keys.includes(key)) throw notFound(`such secret of ${name}; it has ${keys.join(', ') || 'none'}`)
    return await request.mutate(`${name}/${key}`, async (tx) => {
      await registry.writeSecret(tx, name, key, value)
      return ok({ key, from: value === undefined ? 'nowhere' : 'store' })
    })
  }
}
