import { type Mutant, mutantTests } from '../../src/conformance/mutants.ts'
import { assert, suite } from '../../src/index.ts'

const mutants = suite('testkit/conformance/mutants')

interface Toy {
  wrong: string
}
interface ToyFixture {
  readonly driver: Toy
  close(): Promise<void>
}

function finds(what: string) {
  const body = async ({ driver }: ToyFixture): Promise<void> => {
    if (driver.wrong === what) throw new Error(`it is wrong: ${what}`)
  }
  return { sentence: what, body }
}

mutants(
  'tries the check first that found the mutant before, and all of them before it lets one pass',
  async () => {
    let made = 0
    const make = async (): Promise<ToyFixture> => {
      made += 1
      return { driver: { wrong: 'nothing' }, close: async () => undefined }
    }
    const wrongs = ['d', 'd', 'a', 'd', 'missed']
    const all = wrongs.map((wrong): Mutant<Toy, ToyFixture> => ({ what: wrong, wrong: () => ({ wrong }) }))
    const costs: (number | string)[] = []
    const bodies: (() => Promise<void>)[] = []
    mutantTests<Toy, ToyFixture>((_, body) => bodies.push(body), ['a', 'b', 'c', 'd'].map(finds), all, make)
    for (const body of bodies) {
      made = 0
      const problem = await body().then(
        () => '',
        () => ' and passes',
      )
      costs.push(`${made}${problem}`)
    }
    assert.equal(costs, ['4', '1', '2', '2', '4 and passes'])
  },
)

mutants.run()
