import { readFileSync } from "node:fs";
import { join } from "node:path";
import openapiTS, { astToString } from "openapi-typescript";
import { expect, it } from "vitest";

it("the page's types are those of the contract that lies beside them", async () => {
  const root = join(import.meta.dirname, "../..");
  const document = JSON.parse(readFileSync(join(root, "openapi.json"), "utf8"));
  const made = astToString(await openapiTS(document, { rootTypes: true, rootTypesNoSchemaPrefix: true }));
  const kept = readFileSync(join(root, "src/wire/schema.ts"), "utf8");
  expect(kept.endsWith(made), "run `npm run types`").toBe(true);
});
