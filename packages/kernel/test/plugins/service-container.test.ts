import { serviceRef } from '@steeple/contracts'
import { suite } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { createServiceContainer } from '../../src/plugins/service-container.ts'

const container = suite('kernel/plugins/service-container')

interface Greeter {
  readonly name: string
  greet(who: string): Promise<string>
}
const ref = serviceRef<Greeter>('test.greeter')

class Polite implements Greeter {
  readonly #word: string
  constructor(word: string) {
    this.#word = word
  }
  get name(): string {
    return this.#word
  }
  async greet(who: string): Promise<string> {
    return `${this.#word} ${who}`
  }
}

container('refuses what nobody provides', () => {
  const services = createServiceContainer()
  assert.throws(
    () => services.use(ref),
    (error: { code?: string }) => error.code === 'plugin_dependency_missing',
  )
  assert.is(services.maybe(ref), undefined)
})

container('follows the provider, also through a method that was taken off', async () => {
  const services = createServiceContainer()
  services.set('one', new Map([[ref.id, new Polite('good morning')]]))
  const greeter = services.use(ref)
  const { greet } = greeter
  assert.is(await greet('Ada'), 'good morning Ada')
  services.set('one', new Map([[ref.id, new Polite('good evening')]]))
  assert.is(await greet('Ada'), 'good evening Ada')
  assert.is(greeter.name, 'good evening')
  assert.is(services.use(ref), greeter)
})

container('fails with a clear code while the provider is away, and works when it is back', async () => {
  const services = createServiceContainer()
  services.set('one', new Map([[ref.id, new Polite('hello')]]))
  const greeter = services.use(ref)
  services.set('one', new Map())
  assert.throws(
    () => greeter.greet('Ada'),
    (error: { code?: string }) => error.code === 'plugin_dependency_missing',
  )
  services.set('two', new Map([[ref.id, new Polite('hello again')]]))
  assert.is(await greeter.greet('Ada'), 'hello again Ada')
  assert.is(services.ownerOf(ref.id), 'two')
})

container('lets a promise resolve with a service, and nobody change it', async () => {
  const services = createServiceContainer()
  services.set('one', new Map([[ref.id, new Polite('hello')]]))
  const greeter = await Promise.resolve(services.use(ref))
  assert.is(await greeter.greet('Ada'), 'hello Ada')
  assert.throws(() => Object.assign(greeter, { greet: undefined }), TypeError)
})

container(
  'tells which services came, were replaced, changed and went, until the listener is taken away',
  () => {
    const services = createServiceContainer()
    const told: string[][] = []
    const remove = services.onChange((ids) => told.push([...ids]))
    const other = new Polite('other')
    services.set(
      'one',
      new Map([
        ['a', new Polite('a')],
        ['b', other],
      ]),
    )
    services.set(
      'one',
      new Map([
        ['a', new Polite('a')],
        ['b', other],
      ]),
    )
    services.changed('one', 'b')
    services.set('two', new Map())
    services.set('one', new Map([['b', other]]))
    assert.equal(told, [['a', 'b'], ['a'], ['b'], ['a']])
    assert.throws(() => services.changed('two', 'b'), /two does not provide b/)
    services.changed('one', 'nobody provides it')
    remove()
    services.set('one', new Map())
    assert.is(told.length, 4)
  },
)

container.run()
