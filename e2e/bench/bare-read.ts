// The ceiling of a read: a fastify route with the same schemas and the same prepared read, and nothing else.
import Database from 'better-sqlite3'
import Fastify from 'fastify'

process.once('message', async (message) => {
  // read.ts sends exactly this.
  const { database, schema, body } = message as {
    readonly database: string
    readonly schema: object
    readonly body: object
  }
  const db = new Database(database, { readonly: true })
  const find = db.prepare('select * from nodes_node where node_id = ?')
  const app = Fastify({ logger: false })
  app.get<{ Params: { id: string } }>(
    '/v1/nodes/:id/enroll',
    {
      schema: {
        params: {
          type: 'object',
          additionalProperties: false,
          required: ['id'],
          properties: { id: { type: 'string', pattern: '^[0-9a-f-]{36}$' } },
        },
        response: { 200: schema },
      },
    },
    async (request, reply) => {
      if (find.get(request.params.id) === undefined) return await reply.code(404).send()
      return body
    },
  )
  process.send?.(await app.listen({ host: '127.0.0.1', port: 0 }))
})
