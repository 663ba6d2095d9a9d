import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { checkScope, tablesOf } from '../src/scope.ts'

const scope = suite('store/scope')

const CASES: readonly (readonly [string, readonly string[]])[] = [
  ['select a from toy_a', ['toy_a']],
  ['select a from toy_a as x, sim_b y where x.a = y.a order by a, b', ['toy_a', 'sim_b']],
  [
    'select a from toy_a join sim_b on toy_a.a = sim_b.a left join sim_c using (a)',
    ['toy_a', 'sim_b', 'sim_c'],
  ],
  ['select (select max(a) from sim_b) as m, c from toy_a', ['sim_b', 'toy_a']],
  ['select a from (select a from sim_b) x, toy_a', ['sim_b', 'toy_a']],
  ['select a from (toy_a x join sim_b y on x.a = y.a), sim_c', ['toy_a', 'sim_b', 'sim_c']],
  ['insert into sim_b (a, b) values (:a, :b) on conflict (a) do update set a = excluded.a', ['sim_b']],
  ['insert into toy_a (a) select a from sim_b where a in (1, 2)', ['toy_a', 'sim_b']],
  ['update sim_b set a = :a where exists (select 1 from toy_a)', ['sim_b', 'toy_a']],
  ['delete from "sim_b" where a = :from', ['sim_b']],
  ['with x as (select a from sim_b), y as (select a from x) select a from y, toy_a', ['sim_b', 'toy_a']],
  ['select a from toy_a union select a from sim_b', ['toy_a', 'sim_b']],
  ['select a from toy_a order by a limit 1 for update', ['toy_a']],
  ["select 'from sim_b' as a from toy_a", ['toy_a']],
  ['SELECT a FROM Sim_B', ['sim_b']],
]

scope('finds every table that a statement names', () => {
  for (const [sql, tables] of CASES) assert.equal(tablesOf(sql), tables, sql)
})

scope('refuses tables of others, qualified names, calls and other kinds of statements', () => {
  const refused = [
    'select a from sim_b',
    'select a from kernel_audit',
    'select a from main.toy_a',
    'select a from public.toy_a',
    'select value from json_each(:a)',
    'select sql from sqlite_schema',
    'select a from toyb',
    'select a from "Toy_a"',
    'pragma user_version',
    'drop table toy_a',
    'create table toy_b (id text)',
    'select a from toy_a; select a from sim_b',
    'attach database :a as other',
    'vacuum',
    '',
  ]
  for (const sql of refused) assert.throws(() => checkScope('toy', sql), undefined, sql)
  checkScope('fair-use', 'select a from fair_use_quota')
})

scope('never lets a foreign table through, wherever it stands', () => {
  const place = fc.constantFrom(
    (table: string) => `select a from ${table}`,
    (table: string) => `select a from toy_a, ${table}`,
    (table: string) => `select a from toy_a x inner join ${table} y on x.a = y.a`,
    (table: string) => `select a from toy_a where a in (select b from ${table} where c = (1))`,
    (table: string) => `insert into toy_a (a) select f(a, 2) from toy_c, (select 1 as z) q, ${table}`,
    (table: string) => `update toy_a set a = (select max(a) from ${table})`,
    (table: string) => `with q as (select a from ${table}) select a from q`,
    (table: string) => `delete\nfrom\t${table} where a = 'x'''`,
  )
  fc.assert(
    fc.property(place, fc.constantFrom('sim_a', 'SIM_A', '"sim_a"', 'kernel_audit', 'toy'), (sql, table) => {
      assert.throws(() => checkScope('toy', sql(table)))
      checkScope('toy', sql('toy_b'))
    }),
  )
})

scope.run()
