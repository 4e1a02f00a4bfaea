// What every JavaScript client does in the bakery: it lists, reads, writes, is refused and reads a resource, and prints what it met.

export async function visit(client) {
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const listed = await client.callTool({ name: "cakes__list", arguments: {} });
  const cake = listed.structuredContent.cakes[0];
  const order = await client.callTool({ name: "orders__place", arguments: { cake_id: cake.id, amount: 1 } });
  const refused = await client.callTool({ name: "cakes__get", arguments: { name: "nothing" } });
  const board = await client.readResource({ uri: "bakery://board" });
  const met = {
    tools,
    cake: cake.name,
    order: order.structuredContent.id,
    refused: [refused.isError, refused.content[0].text],
    board: board.contents[0].text,
  };
  await client.close();
  console.log(JSON.stringify(met));
}
