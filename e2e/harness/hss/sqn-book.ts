import { assert } from '@steeple/testkit'
import { Long } from 'bson'
import type { Mongo } from './mongo.ts'

/** Remembers the SQN of every subscriber and fails when one was lowered or written again. */
export class SqnBook {
  readonly #mongo: Mongo
  readonly #seen = new Map<string, string>()

  constructor(mongo: Mongo) {
    this.#mongo = mongo
  }

  /** Looks into the database; gives how many subscribers it holds. */
  async check(): Promise<number> {
    const projection = { imsi: 1, 'security.sqn': 1 }
    const docs = await this.#mongo.subscribers.find({}, { projection }).toArray()
    const twice = docs.length - new Set(docs.map(({ imsi }) => imsi)).size
    assert.is(twice, 0, `${twice} subscribers are there twice`)
    for (const { imsi, security } of docs) {
      const sqn = String(security?.sqn)
      const before = this.#seen.get(String(imsi)) ?? sqn
      assert.is(sqn, before, 'the SQN of a subscriber was written again')
      this.#seen.set(String(imsi), sqn)
    }
    return docs.length
  }

  /** Lets some phones authenticate: a core raises the SQN of its subscribers as they do. */
  async authenticate(some: number): Promise<void> {
    const docs = await this.#mongo.subscribers.find({}, { projection: { imsi: 1 }, limit: some }).toArray()
    for (const { imsi } of docs) {
      await this.#mongo.subscribers.updateOne({ imsi }, { $inc: { 'security.sqn': Long.fromNumber(64) } })
      const now = await this.#mongo.subscribers.findOne({ imsi })
      this.#seen.set(String(imsi), String(now?.security?.sqn))
    }
  }

  /** Everything is lost: what comes back comes with another SQN. */
  forget(): void {
    this.#seen.clear()
  }
}
